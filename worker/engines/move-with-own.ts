import { join } from "node:path";
import { readHead } from "#storage/s3/answers.ts";
import { createDirectSource } from "#storage/signing/direct-source.ts";
import { fixedCredential } from "#storage/signing/sigv4.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { AskObject } from "../object-copy/facts.ts";
import { downloadFiles } from "../object-copy/download.ts";
import { uploadFiles } from "../object-copy/upload.ts";
import { callStore, createEngine, type Engine, type EngineOptions } from "../transfer/engine.ts";
import { readIdentity } from "../base/identity.ts";
import { connectHub } from "../hub-link/hub.ts";
import { createTurnSource } from "../hub-link/hub-source.ts";
import { createAskObject } from "../object-copy/requests/ask-object.ts";
import type { EngineRequest } from "./engine-request.ts";

/**
 * Moves one file with the engine that `tidemark cp` uses. `tidemark` uses the part size and connections of the request,
 * `tidemark-auto` chooses its own. @throws Faults of the store and the link, BAD_CREDENTIALS
 */
export async function moveWithOwn(asked: EngineRequest): Promise<void> {
  const { engine: name, direction, access, key, path, scratch, sizeBytes } = asked;
  const isTold = name === "tidemark";
  // Never aborted: the process that started this one kills it when it takes too long.
  const { signal } = new AbortController();
  const { source, signerNow, askWith } = signerOf(asked, signal);
  const engine = createEngine({
    source,
    traits: access.traits,
    trust: access.trust,
    direction,
    connections: isTold ? asked.connections : null,
    limitBytesPerSecond: 0,
    signerNow,
  });
  const partBytes = isTold ? asked.partBytes : null;
  const common = { journalPath: join(scratch, "journal"), partBytes, signal, onStart: () => undefined };
  try {
    if (direction === "up") {
      const identity = await readIdentity(path);
      const files = [{ path, identity, sizeBytes: identity.sizeBytes }];
      await uploadFiles(engine, { ...common, files, keyOf: () => key, sweep: async () => undefined });
      return;
    }
    const ask = askWith(engine);
    const files = [{ key, sizeBytes }];
    await downloadFiles(engine, { ...common, files, pathOf: () => path, copyId: "bench", ask });
  } finally {
    await engine.close();
  }
}

interface Signer {
  source: EngineOptions["source"];
  signerNow(): number;
  askWith(engine: Engine): AskObject;
}

/** Returns the signer: the hub, or else the key of the request. @throws Fault BAD_CREDENTIALS without either. */
function signerOf({ access, credential, hub }: EngineRequest, signal: AbortSignal): Signer {
  if (hub !== null) {
    return {
      source: createTurnSource(connectHub(hub.base, { credential: () => hub.credential, signal }), hub.turnId),
      signerNow: () => Date.now() + hub.aheadMs,
      askWith: (engine) => askThroughHub(engine, signal),
    };
  }
  if (credential === null) throw new Fault("BAD_CREDENTIALS", { op: "bench" });
  const { sessionToken, ...rest } = credential;
  const key = sessionToken === undefined ? rest : { ...rest, sessionToken };
  const source = createDirectSource({ access, credential: key });
  const askWith = (engine: Engine) =>
    createAskObject(
      {
        engine,
        get access() {
          return source.access;
        },
        keys: fixedCredential(key),
        now: source.now,
        aheadMs: source.aheadMs,
      },
      signal,
    );
  return { source, signerNow: source.now, askWith };
}

/** Asks by HEAD only, the one metadata request that the hub signs. The benchmark compares the contents itself. */
const askThroughHub = (engine: Engine, signal: AbortSignal): AskObject => ({
  head: async (key) => {
    const { sizeBytes, etag } = await callStore(engine, { operation: { op: "head", key }, signal }, readHead);
    return { sizeBytes, etag, modifiedAtMs: null, sum: null, isOpaque: true };
  },
  partBytes: async () => null,
  partSums: async () => null,
});
