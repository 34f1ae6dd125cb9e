import type { BenchCase, Direction } from "../cases.ts";
import type { Command } from "../measure/measure.ts";

/** One transfer that a tool is to make. */
export interface Errand {
  direction: Direction;
  endpoint: string;
  region: string;
  accessKey: string;
  secretKey: string;
  bucket: string;
  caFile: string | null;
  setting: BenchCase["setting"];
  /** What lies here, or is to lie here: a file, or a folder of files. */
  path: string;
  /** The object's key; for a folder the prefix, without a slash at its end. */
  key: string;
  /** Names inside the folder; null for one file. */
  names: readonly string[] | null;
  bytes: number;
  /** An empty folder that lives as long as this transfer. */
  scratch: string;
  /** Where the raw TCP server listens. */
  rawAddress: { address: string; port: number };
}

/** How much a tool is told to have in flight; the product is what it holds if it keeps whole parts in memory. */
export interface InFlight {
  parts: number;
  partBytes: number;
  files: number;
}

export type Availability = { version: string } | { missing: string };

export interface Tool {
  name: string;
  title: string;
  /** `peer`: what Tidemark is compared with. `ceiling`: what no store client can pass. */
  role: "own" | "peer" | "ceiling";
  /** How it is set up, for the reader. */
  setup: string;
  find: () => Promise<Availability>;
  /** Null when the tool cannot do this. */
  command: (errand: Errand) => Command | null | Promise<Command | null>;
  /** Null when it holds no whole parts by its documentation, or says nothing about it. */
  inFlight: (errand: Pick<Errand, "direction" | "names">) => InFlight | null;
}

/** What every tool gets of the environment: the keys, where AWS tools look for them, and nothing of the person's own. */
export function baseEnvironment(errand: Errand): Record<string, string> {
  const { caFile } = errand;
  return {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HOME: errand.scratch,
    LANG: "C.UTF-8",
    NO_COLOR: "1",
    AWS_ACCESS_KEY_ID: errand.accessKey,
    AWS_SECRET_ACCESS_KEY: errand.secretKey,
    AWS_REGION: errand.region,
    AWS_DEFAULT_REGION: errand.region,
    AWS_EC2_METADATA_DISABLED: "true",
    ...(caFile === null ? {} : { AWS_CA_BUNDLE: caFile, NODE_EXTRA_CA_CERTS: caFile, SSL_CERT_FILE: caFile }),
  };
}

export const s3Address = (errand: Pick<Errand, "bucket" | "key">): string => `s3://${errand.bucket}/${errand.key}`;
