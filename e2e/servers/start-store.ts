import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startStore } from "#e2e/stage/start-store.ts";
import type { S3Server } from "./run-binary.ts";

/** Starts the embedded store over a folder of its own, as a server like the others. */
export async function startEmbeddedStore(
  flags: readonly string[] = [],
): Promise<S3Server & { readonly control: string }> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-store-"));
  const control = "conformance-control";
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const store = await startStore({ dataDir: folder, bucket: "conformance", control, flags: [...flags] });
    return {
      name: "embedded",
      endpoint: store.endpoint,
      region: "us-east-1",
      accessKey: store.accessKey,
      secretKey: store.secretKey,
      bucket: store.bucket,
      control,
      stop: async () => {
        await store.stop();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
