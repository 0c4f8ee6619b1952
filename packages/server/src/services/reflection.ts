/** grpc.reflection.v1: tools find out by themselves what can be called. */
import { create, type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import {
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "@holdfast/protocol";

export class Reflection {
  readonly #services: readonly DescService[];
  readonly #files = new Map<string, DescFile>();
  readonly #symbols = new Map<string, DescFile>();

  constructor(services: readonly DescService[]) {
    this.#services = services;
    for (const { file } of services) this.#add(file);
  }

  answer(request: ServerReflectionRequest): ServerReflectionResponse {
    const made = create(ServerReflectionResponseSchema, { validHost: request.host, originalRequest: request });
    made.messageResponse = this.#answer(request.messageRequest);
    return made;
  }

  #answer({
    case: kind,
    value,
  }: ServerReflectionRequest["messageRequest"]): ServerReflectionResponse["messageResponse"] {
    if (kind === "listServices") {
      const service = this.#services.map(({ typeName }) => ({
        $typeName: "grpc.reflection.v1.ServiceResponse" as const,
        name: typeName,
      }));
      return { case: "listServicesResponse", value: { $typeName: "grpc.reflection.v1.ListServiceResponse", service } };
    }
    const file =
      kind === "fileByFilename"
        ? this.#files.get(value)
        : kind === "fileContainingSymbol"
          ? this.#symbols.get(value.replace(/^\./, ""))
          : undefined;
    if (file) {
      const fileDescriptorProto = [...withImports(file)].map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
      return {
        case: "fileDescriptorResponse",
        value: { $typeName: "grpc.reflection.v1.FileDescriptorResponse", fileDescriptorProto },
      };
    }
    return {
      case: "errorResponse",
      value: {
        $typeName: "grpc.reflection.v1.ErrorResponse",
        errorCode: Code.NotFound as number,
        errorMessage: "There is no such file, service or message.",
      },
    };
  }

  #add(file: DescFile): void {
    if (this.#files.has(file.proto.name)) return;
    this.#files.set(file.proto.name, file);
    for (const imported of file.dependencies) this.#add(imported);
    for (const message of file.messages) this.#symbols.set(message.typeName, file);
    for (const enumeration of file.enums) this.#symbols.set(enumeration.typeName, file);
    for (const service of file.services) {
      this.#symbols.set(service.typeName, file);
      for (const method of service.methods) this.#symbols.set(`${service.typeName}.${method.name}`, file);
    }
  }
}

function withImports(file: DescFile, found = new Set<DescFile>()): Set<DescFile> {
  if (found.has(file)) return found;
  found.add(file);
  for (const imported of file.dependencies) withImports(imported, found);
  return found;
}
