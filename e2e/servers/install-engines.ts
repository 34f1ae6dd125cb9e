import { delimiter, dirname } from "node:path";
import { ENGINE_NAMES, type EngineName } from "#protocol/bench/engines.ts";
import { inCi, type Tool } from "./install.ts";
import { installAria2, installAwsCrt, installKnownPeers, installS5cmd } from "./install-peers.ts";

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

/** Installs what is missing. @throws Error in CI when one cannot be had */
export async function installEngines(): Promise<Engines> {
  const { rclone, python, aws } = await installKnownPeers();
  const s5cmd = await installS5cmd();
  const crt = await installAwsCrt(python);
  const tools: Record<string, Tool> = { rclone, python, aws, s5cmd, aria2: await installAria2(), crt };
  const missing = Object.entries(tools).flatMap(([name, tool]) =>
    "missing" in tool ? [`${name}: ${tool.missing}`] : [],
  );
  if (missing.length > 0 && inCi()) throw new Error(`In CI every engine must be there: ${missing.join("; ")}.`);
  if (missing.length > 0) console.warn(`Not compared here: ${missing.join("; ")}.`);
  const isThere = (name: EngineName): boolean => {
    const tool = tools[NEEDS[name] ?? ""];
    return !NEVER_HERE.includes(name) && (tool === undefined || !("missing" in tool));
  };
  const folders = [rclone, python, aws, s5cmd].flatMap((tool) => ("program" in tool ? [dirname(tool.program)] : []));
  const path = [...new Set(folders), process.env["PATH"] ?? ""].join(delimiter);
  return {
    able: ENGINE_NAMES.filter(isThere),
    env: { PATH: path, ...("program" in crt ? { PYTHONPATH: crt.program } : {}) },
  };
}
