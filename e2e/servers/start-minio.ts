import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, prepareBucket, runBinary, type S3Server } from "./run-binary.ts";

/** Starts a MinIO server over a folder of its own. */
export async function startMinio(program: string): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-minio-"));
  const [port, consolePort] = [await freePort(), await freePort()];
  const access = {
    endpoint: `http://127.0.0.1:${port}`,
    region: "us-east-1",
    accessKey: "conformance",
    secretKey: "conformance-secret",
  };
  const running = runBinary({
    program,
    args: [
      "server",
      folder,
      "--address",
      `127.0.0.1:${port}`,
      "--console-address",
      `127.0.0.1:${consolePort}`,
      "--quiet",
    ],
    env: {
      MINIO_ROOT_USER: access.accessKey,
      MINIO_ROOT_PASSWORD: access.secretKey,
      MINIO_BROWSER: "off",
      MINIO_UPDATE: "off",
      MINIO_CALLHOME_ENABLE: "off",
    },
  });
  const stop = async (): Promise<void> => {
    await running.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await prepareBucket({ name: "minio", access, bucket: "conformance", running });
  } catch (error) {
    await stop();
    throw error;
  }
  return { name: "minio", bucket: "conformance", ...access, stop };
}
