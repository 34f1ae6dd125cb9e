import * as z from "zod";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { BY_CODE } from "#storage/answers/fault-codes.ts";
import { isPathAddressed } from "#storage/signing/signing.ts";
import { keyedEnvironment } from "./base-environment.ts";
import { BY_STATUS } from "./by-status.ts";
import { BOTO_SCRIPT } from "./boto-script.ts";
import type { Driver, TransferTask } from "./driver.ts";
import { findProgram } from "./find-program.ts";
import { lastLine } from "./last-line.ts";

/** Runs boto3's default engine (s3transfer), or AWS's C runtime (CRT) as boto3 uses it. Both are Python packages. */

const askVersion = (names: readonly string[]): string =>
  `from importlib.metadata import version; print(", ".join(n + " " + version(n) for n in ${JSON.stringify(names)}))`;

const driver = (name: "boto3" | "crt", packages: readonly string[], hint: string): Driver => ({
  name,
  exits: {},
  explain: (end) => codeOf(lastLine(end.out)),
  holds: ({ partBytes, connections }) => (name === "crt" ? null : partBytes * connections),
  find: (where) =>
    findProgram(
      {
        names: ["python3", "python"],
        args: ["-c", askVersion(packages)],
        read: (said) => (said.startsWith(`${packages[0]} `) ? said : null),
        hint,
      },
      where,
    ),
  command: (task, found) => ({
    program: found.program,
    args: ["-c", BOTO_SCRIPT],
    env: keyedEnvironment(task, found),
    stdin: JSON.stringify(asked(name, task)),
  }),
});

function asked(engine: "boto3" | "crt", task: TransferTask) {
  const { direction, access, key, path, partBytes, connections } = task;
  const { endpoint, region, bucket } = access;
  const addressing = isPathAddressed(access) ? "path" : "virtual";
  return { engine, direction, endpoint, region, bucket, key, path, partBytes, connections, addressing };
}

const failure = z.object({ name: z.string(), code: z.string().nullable(), status: z.number().nullable() });

/** Fault codes of the classes of botocore.exceptions. */
const BY_CLASS: Readonly<Record<string, FaultCode>> = {
  EndpointConnectionError: "LINK_DOWN",
  ConnectionClosedError: "LINK_DOWN",
  ConnectTimeoutError: "LINK_DOWN",
  HTTPClientError: "LINK_DOWN",
  ReadTimeoutError: "STALLED",
  IncompleteReadError: "TRUNCATED",
  ResponseStreamingError: "TRUNCATED",
  SSLError: "TLS_FAILED",
  NoCredentialsError: "BAD_CREDENTIALS",
};

function codeOf(line: unknown): FaultCode | null {
  const parsed = failure.safeParse(line);
  if (!parsed.success) return null;
  const { name, code, status } = parsed.data;
  if (code !== null && Object.hasOwn(BY_CODE, code)) return BY_CODE[code] ?? null;
  if (Object.hasOwn(BY_CLASS, name)) return BY_CLASS[name] ?? null;
  return status === null ? null : (BY_STATUS[status] ?? null);
}

export const boto3 = driver("boto3", ["boto3", "s3transfer"], "pip install boto3");
export const crt = driver("crt", ["awscrt", "s3transfer"], "pip install boto3[crt]");
