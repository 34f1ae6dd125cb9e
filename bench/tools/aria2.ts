import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Tool as InstalledTool } from "#e2e/servers/install.ts";
import { encodeKey, presign } from "#storage/signing/sigv4.ts";
import { baseEnvironment, type ToolTask, type Tool } from "./tool.ts";

const run = promisify(execFile);
const SPLITTING = "-x16 -s16 -k1M --file-allocation=falloc";
const FILES_AT_A_TIME = "-j64";
const QUIET = "--no-conf --summary-interval=0 --console-log-level=error --download-result=hide";

/** Returns aria2c, which downloads from presigned URLs and does not upload. */
export function aria2(installed: InstalledTool): Tool {
  return {
    name: "aria2",
    title: "aria2c",
    role: "peer",
    setup: `\`${SPLITTING}\`, presigned URL; small files \`${FILES_AT_A_TIME}\``,
    find: async () => {
      if ("missing" in installed) return installed;
      const { stdout } = await run(installed.program, ["--version"]);
      return { version: stdout.split("\n")[0]?.replace("aria2 version ", "") ?? "" };
    },
    inFlight: () => null,
    command: async (task) => {
      if ("missing" in installed || task.direction === "up") return null;
      const list = join(task.scratch, "urls");
      await writeFile(list, inputFile(task));
      return {
        program: installed.program,
        args: [
          `--input-file=${list}`,
          ...`${SPLITTING} ${FILES_AT_A_TIME} ${QUIET}`.split(" "),
          ...(task.caFile === null ? [] : [`--ca-certificate=${task.caFile}`]),
        ],
        env: baseEnvironment(task),
      };
    },
  };
}

function inputFile(task: ToolTask): string {
  const entry = (key: string, path: string): string =>
    `${presignedGet(task, key)}\n  dir=${dirname(path)}\n  out=${basename(path)}\n`;
  if (task.names === null) return entry(task.key, task.path);
  return task.names.map((name) => entry(`${task.key}/${name}`, join(task.path, name))).join("");
}

function presignedGet(task: ToolTask, key: string): string {
  const credential = { accessKeyId: task.accessKey, secretAccessKey: task.secretKey };
  return presign(
    { method: "GET", origin: task.endpoint, path: `/${task.bucket}/${encodeKey(key)}`, query: [], headers: {} },
    { credential, region: task.region, nowMs: Date.now(), lifetimeMs: 3_600_000 },
  );
}
