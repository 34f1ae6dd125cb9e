import { join } from "node:path";
import { compileC } from "#e2e/link/compile-c.ts";
import { baseEnvironment, type Tool } from "./tool.ts";

export const RAW_CONNECTIONS = 30;

/** Compiles the program for raw TCP, which is both server and client. */
export const compileRaw = (): Promise<string> => compileC("raw-tcp", join(import.meta.dirname, "../peers/raw-tcp.c"));

/** Plain TCP: the same number of bytes over new connections, with nothing on top. Shows what the link itself allows. */
export const raw: Tool = {
  name: "raw",
  title: "raw TCP",
  role: "ceiling",
  setup: `${RAW_CONNECTIONS} fresh connections, no store and no files`,
  find: async () => {
    await compileRaw();
    return { version: `${RAW_CONNECTIONS} connections` };
  },
  inFlight: () => null,
  command: async (task) => {
    // Its bytes are not encrypted and have no names, so it is no upper limit for HTTPS or for many files.
    if (task.names !== null || task.caFile !== null) return null;
    const { address, port } = task.rawAddress;
    return {
      program: await compileRaw(),
      args: [task.direction, address, String(port), String(task.bytes), String(RAW_CONNECTIONS)],
      env: baseEnvironment(task),
    };
  },
};
