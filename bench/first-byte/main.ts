import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { LinkSettings } from "#e2e/link/emulator.ts";
import { openLink } from "#e2e/link/open-link.ts";
import { installServer } from "#e2e/servers/install.ts";
import { ROOT } from "#e2e/stage/start-process.ts";
import { BenchError } from "../bench-error.ts";
import { DIRECTIONS, type Direction } from "../cases.ts";
import { measure } from "../measure/measure.ts";
import { readCount } from "../read-count.ts";
import { describeMachine } from "../report/describe-machine.ts";
import { commandOf } from "../report/measured-with.ts";
import { makeCertificate } from "../stage/make-certificate.ts";
import { makePayload } from "../stage/make-payload.ts";
import { makeFolder } from "../stage/open-stage.ts";
import { startServer } from "../stage/start-server.ts";
import { findTools, type ReadyTool, TOOL_NAMES, type ToolName } from "../tools/find-tools.ts";
import { sdk } from "../tools/sdk.ts";
import type { ToolTask, Tool } from "../tools/tool.ts";
import { openFarEnd } from "./open-far-end.ts";
import { keptFirstBytes, type FirstByteResult, type FirstByteRun } from "./result.ts";
import { firstByteOf } from "./timeline.ts";
import { firstBytePage } from "./write-page.ts";

/**
 * `npm run bench -- first-byte`: measures how long a tool takes from its start to the first byte of payload, over TLS across an
 * emulated link. Only a resolver at the far end knows the store's name, so the lookup, the connection, the handshake and every
 * request before the payload count.
 */

const HELP = `npm run bench -- first-byte [--rounds N] [--tools a,b] [--rtt MS] [--other FILE] [--save | --report]

  --rounds N    rounds, in each of which all tools have their turn (5)
  --tools a,b   only these
  --rtt MS      round trip of the link (120)
  --other FILE  another build (tidemark.mjs or the executable), for the tool "other"
  --real-time   link, far end and tools go before all else that the machine does, for one that is not quiet
  --save        keep the results in bench/results/first-byte.json and write docs/first-byte.md
  --report      only write docs/first-byte.md again`;

const PAGE = join(ROOT, "docs/first-byte.md");
const USUAL: readonly ToolName[] = [
  "tidemark",
  "again",
  "s5cmd",
  "s5cmd-plain",
  "rclone",
  "boto3",
  "crt",
  "aws-cli",
  "aria2",
  "sdk",
];
/** The first size fits one request; the second takes several parts with every tool (s5cmd: 50 MiB each). */
const SIZES = [1 << 20, 64 << 20] as const;
const CONGESTION = "cubic";
/** Only the resolver at the far end knows its address. */
const HOST = "store.first-byte.test";
const [PORT, STORE_PORT] = [443, 9100];
const LIMIT_MS = 120_000;

function readWanted(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "5" },
      tools: { type: "string", default: USUAL.join(",") },
      rtt: { type: "string", default: "120" },
      other: { type: "string" },
      "real-time": { type: "boolean", default: false },
      save: { type: "boolean", default: false },
      report: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const names = values.tools.split(",").map((name): ToolName => {
    const found = TOOL_NAMES.find((tool) => tool === name);
    if (found === undefined) throw new BenchError(`There is no tool "${name}". Tools: ${TOOL_NAMES.join(", ")}.`);
    return found;
  });
  const { help, report, save, other = null, "real-time": isRealTime } = values;
  return {
    isRealTime,
    help,
    report,
    save,
    other,
    names,
    rounds: readCount("--rounds", values.rounds),
    rttMs: readCount("--rtt", values.rtt),
  };
}

async function writePage(): Promise<void> {
  await writeFile(PAGE, firstBytePage(await keptFirstBytes.read()));
  console.log("docs/first-byte.md is written.");
}

/** Runs the benchmark. @throws BenchError that says what was not understood, CannotRun where no link can be emulated */
export async function benchFirstByte(args: readonly string[]): Promise<void> {
  const wanted = readWanted(args);
  if (wanted.help) return console.log(HELP);
  if (wanted.report) return writePage();
  const { names, other, rounds, rttMs, save, isRealTime } = wanted;
  const link = { rttMs, upMbit: 500, downMbit: 500 };
  if (isRealTime) goFirst();
  const machine = await describeMachine({ congestion: CONGESTION, link, server: "versitygw" });
  const stateFolder = await mkdtemp(join(tmpdir(), "tidemark-first-byte-"));
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rm(stateFolder, { recursive: true, force: true }));
  const { ready, missing } = await findTools({ names, otherBuild: other, stateFolder });
  for (const [name, why] of missing) console.log(`${name} is not measured: ${why}`);
  const runs = await measureAll(ready, { link, rounds });
  const result: FirstByteResult = {
    ...machine,
    command: commandOf("first-byte", args),
    link,
    isRealTime,
    tools: ready.map(({ tool: { name, title, role }, version }) => ({ name, title, role, version })),
    missing: Object.fromEntries(missing),
    runs,
  };
  console.log(firstBytePage(result));
  if (!save) return;
  await keptFirstBytes.save(result);
  await writePage();
}

async function measureAll(
  tools: readonly ReadyTool[],
  { link, rounds }: { link: LinkSettings; rounds: number },
): Promise<FirstByteRun[]> {
  await using stage = await openStage(link);
  const runs: FirstByteRun[] = [];
  for (const bytes of SIZES) {
    await rm(stage.source, { force: true });
    await makePayload(stage.source, { kind: "file", bytes });
    for (const direction of DIRECTIONS) {
      await stage.empty();
      if (direction === "down") await stage.fill(bytes);
      // The tool `again` knows the store only after an earlier run.
      for (const { tool } of tools) if (tool.name === "again") await stage.run(tool, { direction, bytes });
      for (let round = 1; round <= rounds; round++) {
        for (const { tool } of tools) {
          // rclone does not send what is in the bucket already.
          if (direction === "up") await stage.empty();
          const found = await stage.run(tool, { direction, bytes });
          if (found === null) continue;
          const run: FirstByteRun = { tool: tool.name, direction, bytes, round, ...found };
          runs.push(run);
          console.log(tell(run));
        }
      }
    }
  }
  return runs;
}

function tell({ tool, direction, bytes, round, failure, firstPacketMs, firstByteMs, before }: FirstByteRun): string {
  const ms = (value: number | null): string => (value === null ? "-" : value.toFixed(0)).padStart(5);
  const start = `  ${direction.padEnd(4)} ${String(bytes >> 20).padStart(2)} MiB ${tool.padEnd(12)} ${round}`;
  const end = failure === null ? before.join(", ") : `FAILED: ${failure}`;
  return `${start}  first packet ${ms(firstPacketMs)} ms, first byte ${ms(firstByteMs)} ms  ${end}`;
}

type Seen = Pick<FirstByteRun, "failure" | "firstPacketMs" | "firstByteMs" | "before">;

interface FirstByteStage {
  source: string;
  empty(): Promise<void>;
  /** Puts the object that downloads fetch, without the emulated link. */
  fill(bytes: number): Promise<void>;
  /** Measures one run; null when the tool cannot do it. */
  run(tool: Tool, about: { direction: Direction; bytes: number }): Promise<Seen | null>;
  [Symbol.asyncDispose]: () => Promise<void>;
}

/** Gives this process and all that it starts (link, far end, tools) real-time priority. chrt is in the same package as nsenter. */
const goFirst = (): void => void execFileSync("chrt", ["--rr", "--all-tasks", "--pid", "10", String(process.pid)]);

async function openStage(settings: LinkSettings): Promise<FirstByteStage> {
  await using undo = new AsyncDisposableStack();
  const folder = await makeFolder();
  undo.defer(() => rm(folder, { recursive: true, force: true }));
  const installed = await installServer("versitygw");
  if ("missing" in installed) throw new BenchError(`There is no S3 server to measure against: ${installed.missing}.`);
  const link = await openLink(settings, CONGESTION);
  undo.defer(() => link.close());
  const { serverNetns, clientNetns, serverAddress: address } = link;
  const server = await startServer({
    name: "versitygw",
    program: installed.program,
    folder,
    netns: serverNetns,
    address,
    port: STORE_PORT,
    certificate: null,
  });
  undo.defer(() => server.stop());
  const { certFile, keyFile, caFile } = await makeCertificate(folder, HOST);
  const far = undo.use(
    await openFarEnd(serverNetns, { address, port: PORT, storePort: STORE_PORT, certFile, keyFile }),
  );
  const resolv = join(folder, "resolv.conf");
  await writeFile(resolv, `nameserver ${address}\n`);
  const [source, target, scratch] = [join(folder, "source"), join(folder, "target"), join(folder, "scratch")];
  const taskOf = async (direction: Direction, bytes: number): Promise<ToolTask> => {
    for (const path of [target, scratch]) await rm(path, { recursive: true, force: true });
    await mkdir(scratch);
    return {
      ...server,
      direction,
      bytes,
      endpoint: `https://${HOST}`,
      caFile,
      setting: "as-documented",
      path: direction === "up" ? source : target,
      key: "measured/object",
      names: null,
      scratch,
      rawAddress: { address, port: 0 },
    };
  };
  const { signal } = new AbortController();
  const kept = undo.move();
  return {
    source,
    empty: server.empty,
    fill: async (bytes) => {
      const task = { ...(await taskOf("up", bytes)), endpoint: server.endpoint, caFile: null };
      const command = await sdk.command(task);
      const measured = command && (await measure(command, { netns: serverNetns, scratch, limitMs: LIMIT_MS, signal }));
      if (measured?.why !== null) throw new BenchError(`The store could not be filled: ${measured?.why}.`);
    },
    run: async (tool, { direction, bytes }) => {
      const command = await tool.command(await taskOf(direction, bytes));
      if (command === null) return null;
      await far.events();
      const { costs, why } = await measure(command, { netns: clientNetns, resolv, scratch, limitMs: LIMIT_MS, signal });
      const startedMs = (costs?.startedSeconds ?? 0) * 1000;
      const first = firstByteOf(await far.events(), { startedMs, rttMs: settings.rttMs, direction });
      if (first !== null && why === null) return { failure: null, ...first };
      return { failure: why ?? "no payload was seen", firstPacketMs: null, firstByteMs: null, before: [] };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
