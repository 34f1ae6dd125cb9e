import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clearFaults, resetCounters, setClock } from "../stage/store-control.ts";
import { type RunningStore, startStore } from "../stage/start-store.ts";
import { startCopy } from "./copy.ts";
import { PART_BYTES, type Payload, type PayloadSize, writePayload } from "./payload.ts";
import { type FaultProxy, startProxy } from "./proxy.ts";

/** A store, a link to it that can fail, and files to move: what one trial at a time uses. */
export interface Rig {
  readonly folder: string;
  readonly program: string;
  readonly store: RunningStore & { readonly region?: string };
  readonly proxy: FaultProxy;
  readonly size: PayloadSize;
  readonly provider: string;
  /** Local files. */
  payload(shape: Payload["shape"]): Payload;
  /** The key (or prefix) under which the same bytes lie in the store already. */
  stored(shape: Payload["shape"]): Promise<string>;
  /** A name that no trial had. */
  fresh(): string;
  /** Back to a healthy link and store, with counters at nothing. */
  heal(seed: number): Promise<void>;
  close(): Promise<void>;
}

export interface RigOptions {
  readonly program: string;
  readonly size: PayloadSize;
  /** Departures of the store from AWS, as `--quirks` takes them. */
  readonly quirks?: string;
  /** What the store is called when files are put there. */
  readonly provider?: string;
  /** Where the folders go; the system's temporary folder when left out. */
  readonly parent?: string;
}

export const storeKeys = (store: RunningStore): Record<string, string> => ({
  AWS_ACCESS_KEY_ID: store.accessKey,
  AWS_SECRET_ACCESS_KEY: store.secretKey,
  AWS_REGION: "us-east-1",
});

export async function openRig(options: RigOptions): Promise<Rig> {
  const folder = mkdtempSync(join(options.parent ?? tmpdir(), "tidemark-rig-"));
  const region = /(?:^|,)region=([a-z0-9-]+)/.exec(options.quirks ?? "")?.[1];
  const running = await startStore({
    dataDir: join(folder, "store"),
    control: "rig-control-token",
    flags: ["--no-fsync", ...(options.quirks === undefined ? [] : ["--quirks", options.quirks])],
  });
  const store = { ...running, ...(region === undefined ? {} : { region }) };
  const proxy = await startProxy({ target: store.port, seed: 1 });
  const payloads = new Map<Payload["shape"], Payload>();
  const stored = new Map<Payload["shape"], Promise<string>>();
  let names = 0;
  const rig: Rig = {
    folder,
    program: options.program,
    store,
    proxy,
    size: options.size,
    provider: options.provider ?? "minio",
    payload: (shape) => {
      const known = payloads.get(shape);
      if (known !== undefined) return known;
      mkdirSync(join(folder, "files"), { recursive: true });
      const made = writePayload(join(folder, "files"), shape, options.size);
      payloads.set(shape, made);
      return made;
    },
    stored: (shape) => {
      const known = stored.get(shape) ?? putThere(rig, shape);
      stored.set(shape, known);
      return known;
    },
    fresh: () => `t${++names}`,
    heal: async (seed) => {
      await clearFaults(store);
      await setClock(store, 0);
      await proxy.restart(seed);
      await resetCounters(store);
    },
    close: async () => {
      await proxy.close();
      await store.stop("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return rig;
}

const putThere = async (rig: Rig, shape: Payload["shape"]): Promise<string> => {
  const key = shape === "one" ? "stored/one.bin" : "stored/many";
  await putPayload(rig, rig.payload(shape), key);
  return key;
};

/** Stores files with the program itself, over a healthy link. Throws when that fails. */
export async function putPayload(rig: Rig, payload: Payload, key: string): Promise<void> {
  const copy = startCopy({
    program: rig.program,
    flags: {
      endpoint: rig.store.endpoint,
      provider: rig.provider,
      "part-size": PART_BYTES,
      state: join(rig.folder, "state-stored"),
    },
    from: payload.path,
    to: `s3://${rig.store.bucket}/${key}`,
    env: storeKeys(rig.store),
  });
  const ending = await copy.ended;
  if (ending.code !== 0) throw new Error(`the files to restore could not be stored: ${ending.stdout}${ending.stderr}`);
}
