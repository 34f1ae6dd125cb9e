import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, prepareBucket, runBinary, type S3Server } from "./run-binary.ts";

/** Starts a Versity S3 Gateway over a folder of its own. */
export async function startVersitygw(program: string): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-versitygw-"));
  const data = join(folder, "data");
  const sidecar = join(folder, "sidecar");
  await mkdir(data);
  await mkdir(sidecar);
  const port = await freePort();
  const access = {
    endpoint: `http://127.0.0.1:${port}`,
    region: "us-east-1",
    accessKey: "conformance",
    secretKey: "conformance-secret",
  };
  // Metadata goes to a folder beside the data, because not every file system has extended attributes.
  const running = runBinary({
    program,
    args: ["--port", `127.0.0.1:${port}`, "--quiet", "posix", "--sidecar", sidecar, data],
    env: { ROOT_ACCESS_KEY: access.accessKey, ROOT_SECRET_KEY: access.secretKey },
  });
  const stop = async (): Promise<void> => {
    await running.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await prepareBucket({ name: "versitygw", access, bucket: "conformance", running });
  } catch (error) {
    await stop();
    throw error;
  }
  return { name: "versitygw", bucket: "conformance", ...access, stop };
}
