import { installAria2, installAwsCrt, installKnownPeers, installS5cmd } from "#e2e/servers/install-peers.ts";
import { BenchError } from "../bench-error.ts";
import { aria2 } from "./aria2.ts";
import { rclone, s5cmd } from "./go-tools.ts";
import { awsCli, boto3, NO_CRT } from "./python-tools.ts";
import { raw } from "./raw.ts";
import { sdk } from "./sdk.ts";
import { ownBuild, tidemark } from "./tidemark.ts";
import type { Tool } from "./tool.ts";

/** All tools, in the order in which they take turns. */
export const TOOL_NAMES = [
  "tidemark",
  "again",
  "other",
  "rclone",
  "s5cmd",
  "s5cmd-plain",
  "boto3",
  "crt",
  "aws-cli",
  "aria2",
  "sdk",
  "raw",
] as const;
export type ToolName = (typeof TOOL_NAMES)[number];

/** Tools that run without `--tools`: all but the two for work on Tidemark itself. */
export const USUAL_TOOLS: readonly ToolName[] = TOOL_NAMES.filter((name) => name !== "again" && name !== "other");

export interface ReadyTool {
  tool: Tool;
  version: string;
}

export interface FindOptions {
  names: readonly ToolName[];
  /** A second build of Tidemark, for `other`. */
  otherBuild: string | null;
  /** Folder in which `again` keeps its state from run to run. */
  stateFolder: string;
}

/**
 * Finds the requested tools, and installs those that can be installed.
 * @returns the tools that are there, and the reason for each missing one
 */
export async function findTools(options: FindOptions): Promise<{ ready: ReadyTool[]; missing: Map<string, string> }> {
  const ready: ReadyTool[] = [];
  const missing = new Map<string, string>();
  const make = maker(options);
  for (const name of options.names) {
    const tool = await make(name);
    const found = await tool.find();
    if ("missing" in found) missing.set(name, found.missing);
    else ready.push({ tool, version: found.version });
  }
  return { ready, missing };
}

function maker(options: FindOptions): (name: ToolName) => Promise<Tool> {
  let known: ReturnType<typeof installKnownPeers> | null = null;
  const installed = (): ReturnType<typeof installKnownPeers> => (known ??= installKnownPeers());
  const python = async () => {
    const { python, aws } = await installed();
    return { python, aws, crtFolder: NO_CRT };
  };
  const crt = async () => {
    const { python, aws } = await installed();
    return { python, aws, crtFolder: await installAwsCrt(python) };
  };
  return async (name) => {
    switch (name) {
      case "tidemark":
        return tidemark({ name, title: "**Tidemark**", build: ownBuild(), stateFolder: null });
      case "again":
        return tidemark({
          name,
          title: "Tidemark, store known",
          build: ownBuild(),
          stateFolder: options.stateFolder,
        });
      case "other":
        if (options.otherBuild === null)
          throw new BenchError('The tool "other" needs --other FILE, a built tidemark.mjs or executable.');
        return tidemark({ name, title: "Tidemark, other build", build: options.otherBuild, stateFolder: null });
      case "rclone":
        return rclone((await installed()).rclone);
      case "s5cmd":
        return s5cmd(await installS5cmd(), { name, title: "s5cmd, tuned", tuning: { parts: 20, partMib: 8 } });
      case "s5cmd-plain":
        return s5cmd(await installS5cmd(), { name, title: "s5cmd", tuning: null });
      case "boto3":
        return boto3(await python(), "classic");
      case "crt":
        return boto3(await crt(), "crt");
      case "aws-cli":
        return awsCli(await python());
      case "aria2":
        return aria2(await installAria2());
      case "sdk":
        return sdk;
      case "raw":
        return raw;
    }
  };
}
