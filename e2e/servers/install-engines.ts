import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { ENGINE_NAMES, type EngineName } from "#protocol/benchmarks/engines.ts";
import { inCi, installPythonClients, installRclone, type Tool, withAllPeers } from "./install.ts";
import { installAria2, installAwsCrt, installS5cmd } from "./install-peers.ts";

/** The programs that `tidemark bench` compares, as far as they can be had here. */

export interface Engines {
  /** Those that are there, with Tidemark and the SDK. */
  able: readonly EngineName[];
  /** Where they are found. */
  env: Record<string, string>;
}

/** Those that a person has to bring. */
const NEVER_HERE: readonly EngineName[] = ["uplink"];
const NEEDS: Readonly<Partial<Record<EngineName, string>>> = {
  rclone: "rclone",
  "rclone-tuned": "rclone",
  boto3: "python",
  crt: "crt",
  "aws-cli": "aws",
  s5cmd: "s5cmd",
  aria2: "aria2",
};

/** Finds a program that this machine has already: the gate builds none with Go. */
function findBuilt(name: string): Tool | null {
  const folder = (process.env["PATH"] ?? "").split(delimiter).find((place) => existsSync(join(place, name)));
  return folder === undefined ? null : { program: join(folder, name) };
}

/** Installs what is missing, and in a run with all peers also what has to be built. @throws Error in CI when one cannot be had */
export async function installEngines(): Promise<Engines> {
  const { python, aws } = await installPythonClients({ ci: false });
  const rclone = withAllPeers() ? await installRclone({ ci: false }) : findBuilt("rclone");
  const s5cmd = withAllPeers() ? await installS5cmd() : findBuilt("s5cmd");
  const crt = await installAwsCrt(python);
  const had: Record<string, Tool> = { python, aws, aria2: await installAria2(), crt };
  const tools: Record<string, Tool> = {
    ...had,
    ...(rclone === null ? {} : { rclone }),
    ...(s5cmd === null ? {} : { s5cmd }),
  };
  const missing = Object.entries(tools).flatMap(([name, tool]) =>
    "missing" in tool ? [`${name}: ${tool.missing}`] : [],
  );
  if (missing.length > 0 && inCi()) throw new Error(`In CI every engine must be there: ${missing.join("; ")}.`);
  if (missing.length > 0) console.warn(`Not compared here: ${missing.join("; ")}.`);
  const isThere = (name: EngineName): boolean => {
    const need = NEEDS[name];
    if (need === undefined) return !NEVER_HERE.includes(name);
    const tool = tools[need];
    return tool !== undefined && !("missing" in tool);
  };
  const folders = ["rclone", "python", "aws", "s5cmd"].flatMap((name) => {
    const tool = tools[name];
    return tool !== undefined && "program" in tool ? [dirname(tool.program)] : [];
  });
  const path = [...new Set(folders), process.env["PATH"] ?? ""].join(delimiter);
  return {
    able: ENGINE_NAMES.filter(isThere),
    env: { PATH: path, ...("program" in crt ? { PYTHONPATH: crt.program } : {}) },
  };
}
