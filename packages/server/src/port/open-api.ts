/** The services as OpenAPI: each call is a POST with JSON. Made from the descriptors, so that it cannot say anything else. */
import { type DescEnum, type DescField, type DescMessage, type DescService, ScalarType } from "@bufbuild/protobuf";

type Schema = Readonly<Record<string, unknown>>;

const WELL_KNOWN: Readonly<Record<string, Schema>> = {
  "google.protobuf.Timestamp": { type: "string", format: "date-time" },
  "google.protobuf.Duration": { type: "string", description: 'Seconds with an "s": "1.5s".' },
};

const LONG: Schema = { type: "string", format: "int64" };

export function openApi(services: readonly DescService[], version: string): Schema {
  const schemas = new Map<string, Schema>();
  const methods = services.flatMap((service) => service.methods.filter(({ methodKind }) => methodKind === "unary"));
  const paths = methods.map((method) => [
    `/${method.parent.typeName}/${method.name}`,
    {
      post: {
        operationId: `${method.parent.name}_${method.name}`,
        tags: [method.parent.name],
        requestBody: { required: true, content: json(reference(method.input, schemas)) },
        responses: {
          200: { description: "The answer.", content: json(reference(method.output, schemas)) },
          default: { description: "The call was refused.", content: json(ref("Refusal")) },
        },
      },
    },
  ]);
  schemas.set("Refusal", {
    type: "object",
    properties: {
      code: { type: "string", description: "not_found, invalid_argument, permission_denied …" },
      message: { type: "string" },
      details: { type: "array", items: { type: "object" } },
    },
  });
  return {
    openapi: "3.1.0",
    info: { title: "Holdfast", version },
    security: [{ token: [] }],
    paths: Object.fromEntries(paths),
    components: {
      schemas: Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
  };
}

function json(schema: Schema): Schema {
  return { "application/json": { schema } };
}

function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

function reference(message: DescMessage, schemas: Map<string, Schema>): Schema {
  const known = WELL_KNOWN[message.typeName];
  if (known) return known;
  if (!schemas.has(message.typeName)) {
    // First, for messages that contain themselves.
    schemas.set(message.typeName, {});
    const properties = message.fields.map((field) => [field.jsonName, fieldSchema(field, schemas)]);
    schemas.set(message.typeName, { type: "object", properties: Object.fromEntries(properties) });
  }
  return ref(message.typeName);
}

function fieldSchema(field: DescField, schemas: Map<string, Schema>): Schema {
  switch (field.fieldKind) {
    case "scalar":
      return scalarSchema(field.scalar);
    case "enum":
      return enumSchema(field.enum, schemas);
    case "message":
      return reference(field.message, schemas);
    case "list":
      return { type: "array", items: elementSchema(field, schemas) };
    case "map":
      return { type: "object", additionalProperties: elementSchema(field, schemas) };
  }
}

function elementSchema(field: Extract<DescField, { fieldKind: "list" | "map" }>, schemas: Map<string, Schema>): Schema {
  const kind = field.fieldKind === "list" ? field.listKind : field.mapKind;
  if (kind === "message") return reference(field.message as DescMessage, schemas);
  if (kind === "enum") return enumSchema(field.enum as DescEnum, schemas);
  return scalarSchema(field.scalar as ScalarType);
}

function enumSchema(desc: DescEnum, schemas: Map<string, Schema>): Schema {
  schemas.set(desc.typeName, { type: "string", enum: desc.values.map(({ name }) => name) });
  return ref(desc.typeName);
}

function scalarSchema(type: ScalarType): Schema {
  switch (type) {
    case ScalarType.STRING:
      return { type: "string" };
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64" };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return { type: "number" };
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return LONG;
    default:
      return { type: "integer", format: "int32" };
  }
}
