import { describe, expect, it } from "vitest";
import { isSecretKey, redactText } from "./redact.ts";

describe("redactText", () => {
  const secret = "hunter2Zq9";
  it.each([
    `connect postgres://app:${secret}@db:5432/x failed`,
    `redis://:${secret}@cache:6379`,
    `Invalid URL: postgres://app:${secret}/with@slash@db/x`,
    `amqp://app:a@${secret}@mq`,
    `https://${secret}@github.com/x.git`,
    `got 401, Authorization: Bearer ${secret}`,
    `{"authorization":"Basic ${secret}"}`,
    `bearer ${secret} was refused`,
    `host=db password=${secret} user=x`,
    `password: ${secret}`,
    `PGPASSWORD=${secret}`,
    `Server=x;Password=${secret};Database=y`,
    `{"password":"two words ${secret}"}`,
    `{"db_password" : "${secret}"}`,
    `{"password":"a\\"${secret}"}`,
    `body: "{\\"password\\":\\"two words ${secret}\\"}"`,
    `{"password":"${secret} and then it was cut`,
    `body: "{\\"password\\":\\"${secret} cut`,
    `passphrase='a ${secret}'`,
    `GET /x?api_key=${secret}&page=2`,
    `x-api-key: ${secret}`,
    `apiKey=${secret}`,
    `client_secret=${secret}`,
    `aws_secret_access_key = ${secret}/ABC+def`,
    `access_token=${secret}`,
    `token: ${secret}`,
    `{"refreshToken":"${secret}"}`,
    `Cookie: a=b; sid=${secret}; c=d`,
    `-----BEGIN RSA PRIVATE KEY-----\n${secret}\n-----END RSA PRIVATE KEY-----`,
    `-----BEGIN PRIVATE KEY-----\n${secret}`,
  ])("masks %s", (text) => {
    const masked = redactText(text);
    expect(masked).not.toContain(secret);
    expect(masked).toContain("[redacted]");
    expect(redactText(masked)).toBe(masked);
  });

  it.each([
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "xoxb-1234567890-abcdefghij",
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "sk-proj-abcdefghijklmnopqrstuvwx",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
  ])("masks the key %s wherever it stands", (key) => {
    expect(redactText(`refused ${key}, sorry`)).toBe("refused [redacted], sorry");
  });

  it.each([
    "connect ECONNREFUSED 127.0.0.1:5432",
    "GET https://example.com:8080/a?b=c failed",
    "mail to ann@example.com bounced",
    "Unexpected token } in JSON at position 5",
    "invalid token: expired",
    "Bearer token is missing",
    'duplicate key value violates unique constraint "pk_order_line_items_2024"',
    "the secret garden",
    "at charge (file:///app/src/bank.ts:12:34)",
  ])("leaves %s alone", (text) => {
    expect(redactText(text)).toBe(text);
  });

  // Two hundred thousand characters: what is quadratic would take a minute or more, however quick the machine.
  it.each([
    "a",
    "://:",
    "://a:b",
    "password",
    'password=\\"',
    "eyJ-",
    "eyJaaaaaaaa.",
    "a-",
    "token: ",
    "-----BEGIN PRIVATE KEY-----",
    "authorization: ",
  ])("takes linear time over many times %j", (part) => {
    const text = part.repeat(Math.ceil(200_000 / part.length));
    expect(redactText(text).length).toBeLessThan(800_000);
  });
});

describe("isSecretKey", () => {
  it("goes by the name", () => {
    expect(["password", "DB_PASSWORD", "apiKey", "x-api-key", "Authorization", "clientSecret"].every(isSecretKey)).toBe(
      true,
    );
    expect(["idempotencyKey", "user", "constraint", "path"].some(isSecretKey)).toBe(false);
  });
});
