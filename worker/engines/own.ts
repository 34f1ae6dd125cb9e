import { PRODUCT_VERSION } from "#protocol/base/version.ts";
import { engineAnswer, type EngineRequest } from "./engine-request.ts";
import { ENGINE_COMMAND } from "./engine-command.ts";
import { keyOf, plainEnvironment } from "./base-environment.ts";
import type { Driver } from "./driver.ts";
import { lastLine } from "./last-line.ts";

/**
 * Runs Tidemark itself, or the AWS SDK that it includes, as a separate process. Like the other engines they then include
 * their start-up time, obey the same limits and leave nothing behind. The request and the key go in on stdin.
 */
const driver = (engine: EngineRequest["engine"], holds: Driver["holds"]): Driver => ({
  name: engine,
  exits: {},
  explain: (end) => {
    const answer = engineAnswer.safeParse(lastLine(end.out));
    return answer.success ? (answer.data.fault?.code ?? null) : null;
  },
  holds,
  find: async (where) => {
    const [program] = where.self;
    if (program === undefined) return { missing: "how Tidemark was started is not known" };
    return { program, where, version: engine === "sdk" ? `with Tidemark ${PRODUCT_VERSION}` : PRODUCT_VERSION };
  },
  command: (task, { program, where }) => {
    const { direction, access, key, path, scratch, sizeBytes, partBytes, connections } = task;
    // Tidemark uses the hub's signatures where there is a hub; the SDK always needs a key.
    const hub = engine === "sdk" ? null : task.hub;
    const credential = hub === null ? { ...keyOf(task) } : null;
    const plan = { key, path, scratch, sizeBytes, partBytes, connections };
    const asked: EngineRequest = { engine, direction, access: { ...access }, credential, hub, ...plan };
    return {
      program,
      args: [...where.self.slice(1), ENGINE_COMMAND],
      env: plainEnvironment(where, scratch),
      stdin: JSON.stringify(asked),
    };
  },
});

/** Tidemark streams between file and socket, so its buffers do not depend on the part size. */
const BUFFERS_BYTES = 128 * 1024 * 1024;

export const tidemark = driver("tidemark", () => BUFFERS_BYTES);
export const tidemarkAuto = driver("tidemark-auto", () => BUFFERS_BYTES);
export const sdk = driver("sdk", ({ partBytes, connections }) => partBytes * (connections + 1));
