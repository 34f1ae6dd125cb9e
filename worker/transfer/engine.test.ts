import { expect, test } from "vitest";
import { PRESETS } from "#storage/providers/providers.ts";
import { createDirectSource } from "#storage/signing/direct-source.ts";
import { createEngine } from "./engine.ts";

const MIB = 1024 * 1024;
const { traits } = PRESETS.minio;
const access = {
  endpoint: "http://127.0.0.1:9",
  region: "us-east-1",
  bucket: "b",
  addressing: "path",
  traits,
} as const;
const source = createDirectSource({ access, credential: { accessKeyId: "a", secretAccessKey: "b" } });

test.each([
  [128 * MIB, 96],
  [64 * MIB, 96],
  [16e6, 23],
  [4 * MIB, 3],
  [1000, 1],
])("%i bytes of memory hold as many as %i connections with their buffers", async (memoryBytes, most) => {
  const about = { source, traits, limitBytesPerSecond: 0, signerNow: Date.now, memoryBytes };
  const engine = createEngine({ ...about, connections: null, firstConnections: 96 });
  expect(engine.semaphore.width).toBe(most);
  await engine.close();
  const fixed = createEngine({ ...about, connections: 96 });
  expect(fixed.semaphore.width).toBe(most);
  await fixed.close();
});
