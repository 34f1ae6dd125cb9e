import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Tool as InstalledTool } from "#e2e/servers/install.ts";
import { encodeKey, presign } from "#storage/signing/sigv4.ts";
import { baseEnvironment, type Errand, type Tool } from "./tool.ts";

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
    command: async (errand) => {
      if ("missing" in installed || errand.direction === "up") return null;
      const list = join(errand.scratch, "urls");
      await writeFile(list, inputFile(errand));
      return {
        program: installed.program,
        args: [
          `--input-file=${list}`,
          ...`${SPLITTING} ${FILES_AT_A_TIME} ${QUIET}`.split(" "),
          ...(errand.caFile === null ? [] : [`--ca-certificate=${errand.caFile}`]),
        ],
        env: baseEnvironment(errand),
      };
    },
  };
}

function inputFile(errand: Errand): string {
  const entry = (key: string, path: string): string =>
    `${presignedGet(errand, key)}\n  dir=${dirname(path)}\n  out=${basename(path)}\n`;
  if (errand.names === null) return entry(errand.key, errand.path);
  return errand.names.map((name) => entry(`${errand.key}/${name}`, join(errand.path, name))).join("");
}

function presignedGet(errand: Errand, key: string): string {
  const credential = { accessKeyId: errand.accessKey, secretAccessKey: errand.secretKey };
  return presign(
    { method: "GET", origin: errand.endpoint, path: `/${errand.bucket}/${encodeKey(key)}`, query: [], headers: {} },
    { credential, region: errand.region, nowMs: Date.now(), lifetimeMs: 3_600_000 },
  );
}
