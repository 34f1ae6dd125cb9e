import pino, { type DestinationStream, type Logger } from "pino";
import { isFault } from "#protocol/fault.ts";
import type { HubSettings } from "./env.ts";

export type Log = Logger;

/** What must never reach a log line, wherever in a logged object it stands. */
const SECRET_FIELDS = [
  "authorization",
  "cookie",
  "password",
  "token",
  "credential",
  "secretAccessKey",
  "accessKeyId",
  "sealed",
  "url",
  "code",
];

/** Signed URLs and bearer tokens inside a text, made unusable. */
export const withoutSecrets = (text: string): string =>
  text
    .replace(/([?&](?:X-Amz-[A-Za-z-]+|Signature|AWSAccessKeyId)=)[^&\s"']+/gi, "$1[removed]")
    .replace(/\b(Bearer|AWS4-HMAC-SHA256)\s+[^\s"']+/gi, "$1 [removed]")
    .replace(/\btm[a-z]_[A-Za-z0-9_-]{16,}/g, "[removed]");

interface LoggedError {
  fault?: object;
  message: string;
  stack?: string;
}

function loggedError(error: unknown): LoggedError {
  if (isFault(error)) {
    const { code, ...rest } = error.toData();
    const cause = error.cause instanceof Error ? withoutSecrets(error.cause.stack ?? error.cause.message) : undefined;
    const said = Object.entries(rest).map(([name, value]) => [
      name,
      typeof value === "string" ? withoutSecrets(value) : value,
    ]);
    const fault = { is: code, ...(Object.fromEntries(said) as typeof rest) };
    return { fault, message: withoutSecrets(error.message), ...(cause === undefined ? {} : { stack: cause }) };
  }
  if (!(error instanceof Error)) return { message: withoutSecrets(String(error)) };
  return { message: withoutSecrets(error.message), stack: withoutSecrets(error.stack ?? "") };
}

/** JSON lines on stderr. Secrets are removed by field name and, in error texts, by their form. */
export function createLog(level: HubSettings["logLevel"], destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: "[removed]" },
      serializers: { error: loggedError },
    },
    destination ?? pino.destination({ fd: 2, sync: true }),
  );
}
