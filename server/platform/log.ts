import pino, { type DestinationStream, type Logger } from "pino";
import { visibleLines } from "#protocol/base/visible-text.ts";
import { isFault } from "#protocol/faults/fault.ts";
import type { HubSettings } from "./env.ts";

export type Log = Logger;

/** Fields that must never appear in a log line, at up to three levels of a logged object. */
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

/** Returns a text with signed URLs, bearer tokens and Tidemark's own secrets removed. */
export const withoutSecrets = (text: string): string =>
  text
    .replace(/([?&](?:X-Amz-[A-Za-z-]+|Signature|AWSAccessKeyId)=)[^&\s"']+/gi, "$1[removed]")
    .replace(/\b(Bearer|AWS4-HMAC-SHA256)\s+[^\s"']+/gi, "$1 [removed]")
    .replace(/\btm[a-z]_[A-Za-z0-9_-]{16,}/g, "[removed]");

/**
 * Returns the message and stack to log. Prisma prints the whole failed call, with hashes and sealed texts, so only its last
 * line is kept.
 */
function spokenBy(error: Error): { message: string; stack: string } {
  const { name, message, stack = "" } = error;
  if (!name.startsWith("PrismaClient")) return { message: withoutSecrets(message), stack: withoutSecrets(stack) };
  const verdict = message.trimEnd().split("\n").at(-1) ?? name;
  const places = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return { message: verdict, stack: [`${name}: ${verdict}`, ...places].join("\n") };
}

interface LoggedError {
  fault?: object;
  message: string;
  stack?: string;
}

function loggedError(error: unknown): LoggedError {
  if (isFault(error)) {
    const { code, ...rest } = error.toData();
    const cause = error.cause instanceof Error ? spokenBy(error.cause).stack : undefined;
    const said = Object.entries(rest).map(([name, value]) => [
      name,
      typeof value === "string" ? withoutSecrets(value) : value,
    ]);
    const fault = { is: code, ...(Object.fromEntries(said) as typeof rest) };
    return { fault, message: withoutSecrets(error.message), ...(cause === undefined ? {} : { stack: cause }) };
  }
  return error instanceof Error ? spokenBy(error) : { message: withoutSecrets(String(error)) };
}

/** Creates a log of JSON lines on stderr. Secrets are removed by field name and, in error texts, by pattern. */
export function createLog(level: HubSettings["logLevel"], destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: "[removed]" },
      serializers: { error: loggedError },
      // JSON leaves characters above 0x7e as they are; some of them control a terminal or reorder its text.
      hooks: { streamWrite: visibleLines },
    },
    destination ?? pino.destination({ fd: 2, sync: true }),
  );
}
