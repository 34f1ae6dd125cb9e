import { spawn } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { bundleProgram } from "#e2e/faults/bundle.ts";
import { installKnownPeers, installS5cmd } from "#e2e/servers/install-peers.ts";
import { ROOT } from "#e2e/stage/start-process.ts";
import { BenchError } from "../bench-error.ts";
import { describeMachine } from "../report/describe-machine.ts";
import { commandOf } from "../report/measured-with.ts";
import { makeFolder } from "../stage/open-stage.ts";
import { compileRaw } from "../tools/raw.ts";
import { emulatedFleet, type EmulatedNode, type StoreName } from "./emulated-fleet.ts";
import type { InsideGiven } from "./inside.ts";
import { findProblems } from "./judge.ts";
import { HUB_PLACE, type Network, openNetwork } from "./open-network.ts";
import { LINKS_HELP, type LinksOptions, partsOf, readLinksOptions } from "./options.ts";
import { type LinksResult, measured, type Measured, keptLinks } from "./result.ts";
import { linksPage } from "./write-page.ts";

/** `npm run bench -- links`: checks the fleet benchmark against links with known properties. */

const PAGE = join(ROOT, "docs/fleet-benchmark.md");

/** Runs the check. @throws BenchError that says what was not understood, CannotRun where no link can be emulated */
export async function benchLinks(args: readonly string[]): Promise<void> {
  const options = readLinksOptions(args);
  if (options === "help") {
    console.log(LINKS_HELP);
    return;
  }
  if (options === "report") {
    await writePage(await keptLinks.read());
    return;
  }
  const machine = await describeMachine({ congestion: "cubic", link: null, server: "store" });
  const signal = listenForSignals();
  const { found, refused } = await measureLinks(options, signal);
  const command = commandOf("links", args);
  const result: LinksResult = {
    ...found,
    ...machine,
    machine: { ...machine.machine, congestion: "cubic" },
    command,
    refused,
  };
  console.log(`\n${linksPage(result)}`);
  const problems = findProblems(result);
  for (const problem of problems) console.log(`x ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
  if (!options.save) return;
  await keptLinks.save(result);
  await writePage(result);
}

async function writePage(result: LinksResult): Promise<void> {
  await writeFile(PAGE, linksPage(result));
  console.log("docs/fleet-benchmark.md is written.");
}

/** Returns a signal that Ctrl-C aborts, so that the cleanup still runs. */
function listenForSignals(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => controller.abort(new BenchError("Stopped.")));
  }
  return controller.signal;
}

async function measureLinks(options: LinksOptions, signal: AbortSignal): Promise<{ found: Measured; refused: number }> {
  const { nodes, bytes, seed, engines, perBucket, kill } = options;
  const searchPath = await findEngines();
  const fleet = emulatedFleet({ nodes, seed });
  await using undo = new AsyncDisposableStack();
  const program = await bundleProgram();
  undo.defer(() => rm(dirname(program), { recursive: true, force: true }));
  const folder = await makeFolder();
  undo.defer(() => rm(folder, { recursive: true, force: true }));
  const network = undo.use(await openNetwork(fleet));
  console.log(`${nodes} nodes, 3 stores, ${nodes * 3} links`);
  const results = join(folder, "found.json");
  const plan = { engines, bytes, ...partsOf(bytes), perBucket, seed, kill };
  const given: InsideGiven = {
    folder,
    program,
    rawProgram: await compileRaw(),
    searchPath,
    ...placesOf(network, fleet),
    plan,
    results,
  };
  await runInside(network, { given, signal });
  const found = measured.parse(JSON.parse(await readFile(results, "utf8")));
  return { found, refused: await network.refused() };
}

/** Returns the PATH of the workers: engines installed for this project, and the system's. */
async function findEngines(): Promise<string> {
  const { rclone, python } = await installKnownPeers();
  const s5cmd = await installS5cmd();
  const folders = [rclone, python, s5cmd].flatMap((tool) => ("program" in tool ? [dirname(tool.program)] : []));
  return [...new Set(folders), process.env["PATH"] ?? ""].join(delimiter);
}

function placesOf(
  network: Network,
  fleet: readonly EmulatedNode[],
): Pick<InsideGiven, "nodes" | "stores" | "hubAddress"> {
  const place = (store: StoreName): { netnsFile: string; address: string } => {
    const found = network.stores.get(store);
    return { netnsFile: found?.file ?? "", address: found?.address ?? "" };
  };
  return {
    hubAddress: place(HUB_PLACE).address,
    stores: { "eu-central": place("eu-central"), "us-east": place("us-east"), "us-west": place("us-west") },
    nodes: fleet.map((node) => {
      const { name = "", file = "" } = network.nodes.get(node.name) ?? {};
      return { ...node, netnsName: name, netnsFile: file };
    }),
  };
}

/**
 * Runs `inside.ts` in the namespace of the hub; its end kills everything that runs in the namespaces.
 * @throws BenchError when it fails or is stopped
 */
async function runInside(network: Network, about: { given: InsideGiven; signal: AbortSignal }): Promise<void> {
  const { given, signal } = about;
  const told = join(given.folder, "given.json");
  await writeFile(told, JSON.stringify(given));
  const netns = network.stores.get(HUB_PLACE)?.file ?? "";
  const tied = ["setpriv", "--pdeathsig", "KILL"];
  const args = [`--net=${netns}`, ...tied, process.execPath, "bench/links/inside.ts", told];
  const child = spawn("nsenter", args, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"], detached: true });
  const stop = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  signal.throwIfAborted();
  if (code !== 0) throw new BenchError(`The measurement ended with ${code}.`);
}
