import { spawn } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { chromium, type BrowserContext, type Page } from "@playwright/test";
import { z } from "zod";
import { findChromium } from "#e2e/gate/install-chromium.ts";
import type { LinkSettings } from "#e2e/link/emulator.ts";
import { openLink } from "#e2e/link/open-link.ts";
import { ADMIN } from "#e2e/stage/open-stage.ts";
import { ROOT, startProcess } from "#e2e/stage/start-process.ts";
import { formatBytes, formatCount } from "#protocol/units.ts";
import { parseSize } from "#protocol/read-units.ts";
import { BenchError } from "../bench-error.ts";
import { readCount } from "../read-count.ts";
import { isStream, sha256OfStream, standInPickers, watchTasks, writeStream } from "./in-page.ts";
import { watchMemory, type Memory } from "./watch-memory.ts";

/**
 * `npm run bench -- browser`: one file up and down through Chromium, over an emulated link at whose far end hub and store
 * are. It says how much of the link was used, what the tab held, and whether each byte is right; it saves nothing.
 */

const BROWSER_HELP = `npm run bench -- browser [--size 5GiB] [--up 150] [--down 300] [--rtt 120] [--files 5000] [--no-reload]

  --size SIZE   of the file (5GiB)
  --up MBIT     of the link, and --down (150 and 300)
  --rtt MS      round trip (120)
  --files N     small files that are dropped on the page afterwards; 0: none (5000)
  --no-reload   without the second upload, in whose middle the page is reloaded
  --no-build    the pages as they were built`;

const LONGEST_MS = 60 * 60_000;
const NAME = "large.bin";

interface Wanted {
  bytes: number;
  link: LinkSettings;
  files: number;
  reloads: boolean;
  builds: boolean;
}

function readWanted(args: readonly string[]): Wanted | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      size: { type: "string", default: "5GiB" },
      up: { type: "string", default: "150" },
      down: { type: "string", default: "300" },
      rtt: { type: "string", default: "120" },
      files: { type: "string", default: "5000" },
      "no-reload": { type: "boolean", default: false },
      "no-build": { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  const count = (name: "up" | "down" | "rtt" | "files", least: number): number =>
    readCount(`--${name}`, values[name], least);
  const link = { upMbit: count("up", 1), downMbit: count("down", 1), rttMs: count("rtt", 1) };
  const [files, bytes] = [count("files", 0), parseSize(values.size)];
  return { bytes, link, files, reloads: !values["no-reload"], builds: !values["no-build"] };
}

const farEnd = z.object({ url: z.string(), ports: z.array(z.number()), profileId: z.string() });
const partCounts = z.object({ parts: z.number(), requests: z.number(), succeeded: z.number() });

/** Hub and store in the namespace of the far end, and a line to whoever looks after them. */
async function startFarEnd(netns: string, address: string) {
  const child = spawn("nsenter", [`--net=${netns}`, process.execPath, "bench/browser/far-end.ts", address], {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => {
    const { value, done } = await lines.next();
    if (done === true) throw new BenchError("The far end of the link has ended.");
    return JSON.parse(value) as unknown;
  };
  const place = farEnd.parse(await next());
  return {
    ...place,
    ask: async (question: object): Promise<unknown> => {
      child.stdin.write(`${JSON.stringify(question)}\n`);
      return z.object({ answer: z.unknown() }).parse(await next()).answer;
    },
    stop: async () => {
      const ended = new Promise((resolve) => child.once("close", resolve));
      child.stdin.end();
      await ended;
    },
  };
}
type FarEnd = Awaited<ReturnType<typeof startFarEnd>>;

/** Chromium in a namespace of its own, with a profile on the disk, as people's have. */
async function startChromium(netns: string, folder: string): Promise<BrowserContext> {
  const found = findChromium();
  if (found === null) throw new BenchError("There is no Chromium: install it first.");
  const wrapper = join(folder, "chromium");
  await writeFile(wrapper, `#!/bin/sh\nexec nsenter --net=${netns} ${found} "$@"\n`);
  await chmod(wrapper, 0o755);
  return chromium.launchPersistentContext(join(folder, "profile"), {
    executablePath: wrapper,
    viewport: { width: 1280, height: 800 },
    handleSIGINT: false,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
  });
}

async function signIn(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/sign-in`, { timeout: 120_000 });
  await page.getByLabel("E-mail").fill(ADMIN.email);
  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation").first().waitFor();
}

interface Measured {
  what: string;
  seconds: number;
  ofLink: number;
  memory: Memory;
  notes: string;
}

const tell = ({ what, seconds, ofLink, memory, notes }: Measured): void =>
  console.log(
    `${what.padEnd(24)} ${seconds.toFixed(1).padStart(7)} s  ${ofLink.toFixed(3)} of the link  tab ${formatBytes(memory.tabBytes)}, browser ${formatBytes(memory.allBytes)}  ${notes}`,
  );

interface Turn {
  context: BrowserContext;
  page: Page;
  far: FarEnd;
  wanted: Wanted;
}

/** Runs it with the clock and the scales on. */
async function weigh(turn: Turn, work: () => Promise<void>): Promise<{ seconds: number; memory: Memory }> {
  const browser = turn.context.browser();
  if (browser === null) throw new BenchError("The browser has ended.");
  const memory = await watchMemory(browser);
  const startedAt = performance.now();
  await work();
  return { seconds: (performance.now() - startedAt) / 1000, memory: await memory.stop() };
}

/** @throws BenchError when what arrived is not what was sent */
async function upload(turn: Turn, folder: string, reload: "in the middle" | "never"): Promise<Measured> {
  const { page, far, wanted } = turn;
  const key = `${folder}/dataset/${NAME}`;
  await far.ask({ ask: "reset" });
  await page.goto(`${far.url}/transfers`);
  await page.getByRole("region", { name: "This browser" }).getByRole("button", { name: "Upload…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Folder", { exact: true }).first().fill(`${folder}/`);
  await dialog.getByRole("button", { name: "Choose a folder" }).click();
  await dialog.getByText("1 file,").waitFor();
  const line = page.getByRole("listitem", { name: `upload of dataset/${NAME}` }).first();
  const parts = async () => partCounts.parse(await far.ask({ ask: "parts", key }));
  const { seconds, memory } = await weigh(turn, async () => {
    await dialog.getByRole("button", { name: "Upload", exact: true }).click();
    if (reload === "in the middle") {
      const half = /^([5-9]\d|100)% ↑/;
      await page.waitForFunction((pattern) => new RegExp(pattern).test(document.title), half.source, {
        timeout: LONGEST_MS,
      });
      await page.reload();
    }
    await line.getByText("done", { exact: true }).first().waitFor({ timeout: LONGEST_MS });
  });
  const { parts: count, requests } = await parts();
  if ((await far.ask({ ask: "sha256", key })) !== sha256OfStream(wanted.bytes)) {
    throw new BenchError(`What arrived as ${key} is not what was sent.`);
  }
  return {
    what: reload === "never" ? "up" : "up, with a reload",
    seconds,
    ofLink: (wanted.bytes * 8) / seconds / (wanted.link.upMbit * 1e6),
    memory,
    notes: `SHA-256 equal; ${requests} requests for ${count} parts`,
  };
}

/** @throws BenchError when what came is not what lies there */
async function download(turn: Turn, folder: string): Promise<Measured> {
  const { page, far, wanted } = turn;
  const query = new URLSearchParams({ in: `${folder}/dataset/`, object: `${folder}/dataset/${NAME}` });
  await page.goto(`${far.url}/buckets/${far.profileId}?${query.toString()}`);
  const button = page.getByRole("button", { name: "Download this object" });
  await button.waitFor();
  const { seconds, memory } = await weigh(turn, async () => {
    await button.click();
    await page.getByRole("link", { name: "Transfers", exact: true }).first().click();
    const line = page.getByRole("listitem", { name: `download of ${NAME}` }).first();
    await line
      .getByText(/checksums agree|no checksum on record|failed/)
      .first()
      .waitFor({ timeout: LONGEST_MS });
  });
  if (!(await isStream(page, wanted.bytes))) throw new BenchError("What came is not what lies in the bucket.");
  return {
    what: "down",
    seconds,
    ofLink: (wanted.bytes * 8) / seconds / (wanted.link.downMbit * 1e6),
    memory,
    notes: "equal byte for byte",
  };
}

/** Thousands of small files dropped at once: how long they take, and for how long the page did not answer. */
async function uploadMany({ page, far, wanted }: Turn): Promise<void> {
  await page.addInitScript(() => Reflect.set(DataTransferItem.prototype, "getAsFileSystemHandle", async () => null));
  await page.goto(`${far.url}/transfers`);
  await page.getByRole("region", { name: "This browser" }).getByRole("button", { name: "Upload…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Folder", { exact: true }).first().fill("many/");
  const given = await page.evaluateHandle((count) => {
    const transfer = new DataTransfer();
    for (let index = 0; index < count; index++) {
      transfer.items.add(new File([`small file ${index} `.repeat(100)], `${index}.txt`));
    }
    return transfer;
  }, wanted.files);
  const tasks = await watchTasks(page);
  const zone = dialog.getByRole("region", { name: "Drop files or folders here" });
  await zone.dispatchEvent("drop", { dataTransfer: given });
  await dialog.getByText(`${formatCount(wanted.files)} files,`).waitFor();
  const startedAt = performance.now();
  await dialog.getByRole("button", { name: "Upload", exact: true }).click();
  const line = page.getByRole("listitem", { name: `upload of ${formatCount(wanted.files)} files` }).first();
  await line.getByText("Files", { exact: true }).click();
  const moving = (is: boolean) =>
    page.waitForFunction((wanted) => document.title.includes("↑") === wanted, is, { timeout: LONGEST_MS });
  await moving(true);
  await moving(false);
  const seconds = (performance.now() - startedAt) / 1000;
  const rows = await line.getByRole("list", { name: "Files" }).getByRole("listitem").count();
  const { longest, above100 } = await tasks();
  console.log(
    `${formatCount(wanted.files)} small files`.padEnd(24) +
      ` ${seconds.toFixed(1).padStart(7)} s  longest task of the page ${longest.toFixed(0)} ms, ${above100} above 100 ms; ${rows} rows drawn`,
  );
}

/** @throws BenchError that says what was not understood or not right, CannotRun where no link can be emulated */
export async function benchBrowser(args: readonly string[]): Promise<void> {
  const wanted = readWanted(args);
  if (wanted === "help") {
    console.log(BROWSER_HELP);
    return;
  }
  await using undo = new AsyncDisposableStack();
  if (wanted.builds) await (await import("#e2e/gate/build.ts")).build();
  const folder = await mkdtemp(join(tmpdir(), "tidemark-browser-"));
  undo.defer(() => rm(folder, { recursive: true, force: true }));
  const link = await openLink(wanted.link, "cubic");
  undo.defer(() => link.close());
  const far = await startFarEnd(link.serverNetns, link.serverAddress);
  undo.defer(() => far.stop());
  const near = await startProcess({
    title: "forwarder",
    entry: "bench/browser/forward.ts",
    args: ["127.0.0.1", link.serverAddress, ...far.ports.map(String)],
    under: ["nsenter", `--net=${link.clientNetns}`],
    readReady: (line) => (line === "forwarding" ? line : null),
  });
  undo.defer(async () => void (await near.stop()));
  const context = await startChromium(link.clientNetns, folder);
  undo.defer(() => context.close());
  // What waits for the page then ends with it, and everything is put away.
  process.once("SIGINT", () => void context.close());
  const page = context.pages()[0] ?? (await context.newPage());
  page.setDefaultTimeout(120_000);
  await standInPickers(page);
  await signIn(page, far.url);
  console.log(
    `${context.browser()?.version() ?? ""}: writing ${formatBytes(wanted.bytes)} into the browser's own files`,
  );
  await writeStream(page, { name: NAME, bytes: wanted.bytes });
  const turn = { context, page, far, wanted };
  tell(await upload(turn, "plain", "never"));
  if (wanted.reloads) tell(await upload(turn, "again", "in the middle"));
  tell(await download(turn, "plain"));
  if (wanted.files > 0) await uploadMany(turn);
  const { up, down } = await link.counts();
  if (up.refused + down.refused > 0) console.log("The emulator could not keep up; do not trust this.");
}
