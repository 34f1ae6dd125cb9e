/** Reads command line and environment into a configuration, or returns one sentence about the mistake. */
import { parseArgs } from "node:util";
import { bucketNameProblem } from "./bucket-name.ts";
import type { Durability } from "./database.ts";
import { readFill, type Fill } from "./fill.ts";
import { readQuirks, type Quirks } from "./quirks.ts";

/** Configuration of a store. */
export type StoreConfig = {
  readonly dataFolder: string;
  readonly host: string;
  readonly port: number;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly buckets: readonly string[];
  /** Empty objects created in the first bucket at start. */
  readonly fills: readonly Fill[];
  readonly corsOrigins: readonly string[];
  readonly controlToken: string | undefined;
  /** Requests to `BUCKET.domain` address the bucket by host; undefined: path style only. */
  readonly domain: string | undefined;
  readonly quirks: Quirks;
  readonly durability: Durability;
  readonly upBytesPerSecond: number | undefined;
  readonly downBytesPerSecond: number | undefined;
};

/** A configuration, or an error sentence for the user. */
export type ConfigResult = { readonly config: StoreConfig } | { readonly problem: string };

const USAGE = `Usage: node store/main.ts --data DIR [--port N] [--host 127.0.0.1]
  --access-key K --secret-key S   or TIDEMARK_STORE_ACCESS_KEY and TIDEMARK_STORE_SECRET_KEY
  --bucket NAME                   created at start; may be repeated
  --fill PREFIX:COUNT             that many empty objects in the first bucket; may be repeated
  --cors-origin ORIGIN            a browser origin that may use every bucket; may be repeated
  --control TOKEN                 opens /_control (faults, counters) to this bearer token
  --domain NAME                   also serves a bucket at http://BUCKET.NAME
  --quirks LIST                   departures from AWS: a provider's (r2, b2, gcs, ...) and single ones (max-parts=1000)
  --rate-up N, --rate-down N      bytes per second over all connections
  --no-fsync                      leave syncing to the system: survives a kill, not a power cut`;

const OPTIONS = {
  data: { type: "string" },
  port: { type: "string", default: "0" },
  host: { type: "string", default: "127.0.0.1" },
  "access-key": { type: "string" },
  "secret-key": { type: "string" },
  bucket: { type: "string", multiple: true, default: [] as string[] },
  fill: { type: "string", multiple: true, default: [] as string[] },
  "cors-origin": { type: "string", multiple: true, default: [] as string[] },
  control: { type: "string" },
  domain: { type: "string" },
  quirks: { type: "string", default: "" },
  "rate-up": { type: "string" },
  "rate-down": { type: "string" },
  "no-fsync": { type: "boolean", default: false },
} as const;

function parse(argv: readonly string[]) {
  return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: false }).values;
}

function rate(text: string | undefined): number | "wrong" | undefined {
  if (text === undefined) return undefined;
  return /^[1-9]\d*$/.test(text) ? Number(text) : "wrong";
}

/** Parses `argv` (without the program) and the environment. */
export function readConfig(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): ConfigResult {
  let values: ReturnType<typeof parse>;
  try {
    values = parse(argv);
  } catch (error) {
    return { problem: `${error instanceof Error ? error.message : "The command line is wrong."}\n${USAGE}` };
  }
  if (values.data === undefined)
    return { problem: `--data DIR is missing: it is the folder that keeps the objects.\n${USAGE}` };
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    return { problem: `--port must be a number from 0 to 65535 (0 chooses a free one), not "${values.port}".` };
  }
  const accessKey = values["access-key"] ?? env["TIDEMARK_STORE_ACCESS_KEY"] ?? "";
  const secretKey = values["secret-key"] ?? env["TIDEMARK_STORE_SECRET_KEY"] ?? "";
  if (accessKey === "" || secretKey === "") {
    return {
      problem:
        "The store needs a key pair: give --access-key and --secret-key, or set TIDEMARK_STORE_ACCESS_KEY and TIDEMARK_STORE_SECRET_KEY.",
    };
  }
  for (const name of values.bucket) {
    const problem = bucketNameProblem(name);
    if (problem !== undefined) return { problem: `--bucket "${name}" is not possible. ${problem}` };
  }
  const fills = values.fill.map(readFill);
  if (fills.includes(undefined)) {
    return {
      problem: `--fill is a prefix and a count up to 9999999, as in bulk/:50000, not "${values.fill.join(" ")}".`,
    };
  }
  const quirks = readQuirks(values.quirks);
  if ("problem" in quirks) return quirks;
  const up = rate(values["rate-up"]);
  const down = rate(values["rate-down"]);
  if (up === "wrong" || down === "wrong") {
    return { problem: "--rate-up and --rate-down must be whole numbers of bytes per second." };
  }
  return {
    config: {
      dataFolder: values.data,
      host: values.host,
      port,
      accessKey,
      secretKey,
      buckets: values.bucket,
      fills: fills.filter((fill) => fill !== undefined),
      corsOrigins: values["cors-origin"],
      controlToken: values.control === "" ? undefined : values.control,
      domain: values.domain?.toLowerCase(),
      quirks: quirks.quirks,
      durability: values["no-fsync"] ? "process-kill" : "power-cut",
      upBytesPerSecond: up,
      downBytesPerSecond: down,
    },
  };
}
