// A value that only a codec service can read. It is asked when the person wants to see the value, and not before.
import { useMutation } from "@tanstack/react-query";
import type { ShownValue } from "../../src/api/api-messages.ts";
import { decodeValue } from "../api/codec-service.ts";
import { useSession } from "../api/session.tsx";
import { bytesText } from "../text/count-text.ts";
import { Button } from "./button.tsx";
import styles from "./payload.module.css";

export interface EncryptedPayloadProps {
  readonly value: ShownValue;
  readonly label: string;
  /** Shows the value once it is decoded. */
  readonly onDecoded: (value: ShownValue) => void;
}

export function EncryptedPayload({ value, label, onDecoded }: EncryptedPayloadProps) {
  const { codecUrl } = useSession();
  const decoding = useMutation({
    mutationFn: (url: string) => decodeValue(url, value.text),
    onSuccess: (text) => onDecoded({ ...value, form: "json", text }),
  });
  return (
    <p className={styles.instead}>
      encrypted, {bytesText(value.bytes)}{" "}
      {codecUrl !== null && value.text !== "" ? (
        <Button
          small
          disabled={decoding.isPending}
          onClick={() => decoding.mutate(codecUrl)}
          aria-label={`Decode ${label.toLowerCase()}`}
        >
          Decode
        </Button>
      ) : null}
      {decoding.error ? <span role="alert"> {decoding.error.message}</span> : null}
    </p>
  );
}
