import { z } from "zod";
import { type RunningProcess, startProcess } from "./start-process.ts";

const readyLine = z.object({ url: z.string() });
const asked = z.array(
  z.object({ method: z.string(), path: z.string(), metadata: z.string().nullable(), body: z.unknown() }),
);

export interface RunningImds extends RunningProcess {
  url: string;
  /** Returns the requests received at a path, in order. */
  askedAt: (path: string) => Promise<z.infer<typeof asked>>;
  /** Changes the identity of the container. */
  identify: (jwt: string) => Promise<void>;
}

/** Starts the emulated metadata service of SaladCloud as a process. */
export async function startImds(): Promise<RunningImds> {
  const running = await startProcess({
    title: "metadata service",
    entry: "worker/testing/fake-imds.ts",
    readReady: (line) => (line.startsWith("{") ? line : null),
  });
  const { url } = readyLine.parse(JSON.parse(running.ready));
  return {
    ...running,
    url,
    askedAt: async (path) => asked.parse(await (await fetch(`${url}/asked`)).json()).filter((one) => one.path === path),
    identify: async (jwt) => {
      await fetch(`${url}/identify`, { method: "POST", body: JSON.stringify(jwt) });
    },
  };
}
