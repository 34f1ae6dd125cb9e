import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Tool as InstalledTool } from "#e2e/servers/install.ts";
import { baseEnvironment, type Availability, type ToolTask, s3Address, type Tool } from "./tool.ts";

/** The peers written in Python: boto3 with its own engine, AWS's C runtime (CRT) as boto3 drives it, and the aws command. */

const run = promisify(execFile);
const SCRIPT = join(import.meta.dirname, "../peers/boto.py");
const MB = 1_000_000;
const FILES_AT_A_TIME = 64;

/** Installed programs, and the folder of the C runtime, which is separate so that only `crt` uses it. */
export interface PythonPeers {
  python: InstalledTool;
  aws: InstalledTool;
  crtFolder: InstalledTool;
}

/** Placeholder for tools that run without the C runtime. */
export const NO_CRT: InstalledTool = { missing: "the C runtime is not wanted" };

type Engine = "classic" | "crt";

const crtPath = (peers: PythonPeers, engine: Engine): Record<string, string> =>
  engine === "crt" && "program" in peers.crtFolder ? { PYTHONPATH: peers.crtFolder.program } : {};

async function pythonVersions(peers: PythonPeers, module: string, engine: Engine): Promise<Availability> {
  if ("missing" in peers.python) return peers.python;
  if (engine === "crt" && "missing" in peers.crtFolder) return peers.crtFolder;
  const names = engine === "crt" ? ["s3transfer", "awscrt"] : [module];
  const ask = `from importlib.metadata import version; print(", ".join(n + " " + version(n) for n in ${JSON.stringify(names)}))`;
  const { stdout } = await run(peers.python.program, ["-c", ask], {
    env: { ...process.env, ...crtPath(peers, engine) },
  });
  return { version: stdout.trim() };
}

const inFlight =
  (engine: Engine): Tool["inFlight"] =>
  ({ names }) =>
    engine === "crt"
      ? null
      : names === null
        ? { parts: 10, partBytes: 10 * MB, files: 1 }
        : { parts: 1, partBytes: 64 << 10, files: FILES_AT_A_TIME };

export function boto3(peers: PythonPeers, engine: Engine): Tool {
  return {
    name: engine === "crt" ? "crt" : "boto3",
    title: engine === "crt" ? "AWS CRT (Python)" : "boto3",
    role: "peer",
    setup:
      engine === "crt"
        ? "`s3transfer.crt`, as boto3 uses it, with its own part size and connections"
        : "`TransferConfig(multipart_chunksize=10 MB, max_concurrency=10)`; small files on 64 threads",
    find: () => pythonVersions(peers, "boto3", engine),
    inFlight: inFlight(engine),
    command: (task) => {
      if ("missing" in peers.python) return null;
      const kind = task.names === null ? "file" : "folder";
      const where = [task.endpoint, task.bucket, task.key, task.path];
      return {
        program: peers.python.program,
        args: [SCRIPT, engine, task.direction, kind, ...where],
        env: { ...baseEnvironment(task), ...crtPath(peers, engine) },
      };
    },
  };
}

/** Returns the aws command of PyPI (version 1), which has only its own engine; version 2 is not on PyPI. */
export function awsCli(peers: Pick<PythonPeers, "python" | "aws">): Tool {
  return {
    name: "aws-cli",
    title: "aws CLI",
    role: "peer",
    setup: "`max_concurrent_requests = 10`, `multipart_chunksize = 10000000`; small files 64 requests",
    find: () => pythonVersions({ ...peers, crtFolder: NO_CRT }, "awscli", "classic"),
    inFlight: inFlight("classic"),
    command: async (task) => {
      if ("missing" in peers.aws) return null;
      const config = join(task.scratch, "aws-config");
      await writeFile(config, awsConfig(task));
      const store = s3Address(task) + (task.names === null ? "" : "/");
      const ends = task.direction === "up" ? [task.path, store] : [store, task.path];
      const recursive = task.names === null ? [] : ["--recursive"];
      return {
        program: peers.aws.program,
        args: ["--endpoint-url", task.endpoint, "s3", "cp", "--only-show-errors", ...recursive, ...ends],
        env: { ...baseEnvironment(task), AWS_CONFIG_FILE: config },
      };
    },
  };
}

function awsConfig(task: ToolTask): string {
  const requests = task.names === null ? 10 : FILES_AT_A_TIME;
  const lines = [
    `max_concurrent_requests = ${requests}`,
    "multipart_chunksize = 10000000",
    "multipart_threshold = 10000000",
  ];
  return `[default]\ns3 =\n${lines.map((line) => `  ${line}\n`).join("")}`;
}
