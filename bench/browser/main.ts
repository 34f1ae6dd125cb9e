import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chromium, type BrowserContext } from "@playwright/test";
import { findChromium } from "#e2e/gate/install-chromium.ts";
import { openLink } from "#e2e/link/open-link.ts";
import { startProcess } from "#e2e/stage/start-process.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { parseSize } from "#protocol/wire/read-units.ts";
import { BenchError } from "../bench-error.ts";
import { readCount } from "../read-count.ts";
import { signIn } from "../page/sign-in.ts";
import { savePageResult, type Moved, type Transfers } from "../page/result.ts";
import { writePagesPage } from "../page/write-page.ts";
import { describeMachine } from "../report/describe-machine.ts";
import { commandOf } from "../report/measured-with.ts";
import { standInPickers, writeStream } from "./in-page.ts";
import { downloadAlone } from "./download-alone.ts";
import { LARGE_NAME, upload, uploadMany, type Turn, type Wanted } from "./move-files.ts";
import { openPlainPage } from "./plain-browser.ts";
import { startFarEnd } from "./start-far-end.ts";

/**
 * `npm run bench -- browser`: moves one file up and down through Chromium, over an emulated link to hub and store. Reports the
 * used share of the link, the memory of the tab, and whether every byte is right.
 */

const BROWSER_HELP = `npm run bench -- browser [--size 5GiB] [--up 150] [--down 300] [--rtt 120] [--files 5000] [--no-reload] [--save]

  --size SIZE   of the file (5GiB)
  --up MBIT     of the link, and --down (150 and 300)
  --rtt MS      round trip (120)
  --files N     small files that are dropped on the page afterwards; 0: none (5000)
  --no-reload   does not reload the page in the middle of the upload
  --no-build    the pages as they were built
  --save        keep the results in bench/results/page/ and write docs/pages.md`;

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
      save: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  const count = (name: "up" | "down" | "rtt" | "files", least: number): number =>
    readCount(`--${name}`, values[name], least);
  const link = { upMbit: count("up", 1), downMbit: count("down", 1), rttMs: count("rtt", 1) };
  const [files, bytes] = [count("files", 0), parseSize(values.size)];
  return { bytes, link, files, reloads: !values["no-reload"], builds: !values["no-build"], saves: values.save };
}

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"];

/** Starts Chromium in a network namespace of its own, with a profile on the disk, as people's browsers have. */
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
    args: FLAGS,
  });
}

const tell = ({ what, seconds, ofLink, tabBytes, browserBytes, notes }: Moved): void =>
  console.log(
    `${what.padEnd(24)} ${seconds.toFixed(1).padStart(7)} s  ${ofLink.toFixed(3)} of the link  tab ${formatBytes(tabBytes)}, browser ${formatBytes(browserBytes)}  ${notes}`,
  );

function tellSmall({ files, seconds, longestTaskMs, above100, rows }: NonNullable<Transfers["small"]>): void {
  console.log(
    `${formatCount(files)} small files`.padEnd(24) +
      ` ${seconds.toFixed(1).padStart(7)} s  longest task of the page ${longestTaskMs.toFixed(0)} ms, ${above100} above 100 ms; ${rows} rows drawn`,
  );
}

/**
 * Runs the benchmark.
 * @throws BenchError that says what was not understood or not right, CannotRun where no link can be emulated
 */
export async function benchBrowser(args: readonly string[]): Promise<void> {
  const wanted = readWanted(args);
  if (wanted === "help") {
    console.log(BROWSER_HELP);
    return;
  }
  const machine = await describeMachine({ congestion: "cubic", link: wanted.link, server: "store" });
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
  // Closing the browser ends all waits for the page, and then the cleanup runs.
  process.once("SIGINT", () => void context.close());
  const page = context.pages()[0] ?? (await context.newPage());
  page.setDefaultTimeout(120_000);
  await page.addInitScript(standInPickers);
  await signIn(page, far.url);
  console.log(
    `${context.browser()?.version() ?? ""}: writing ${formatBytes(wanted.bytes)} into the browser's own files`,
  );
  await writeStream(page, { name: LARGE_NAME, bytes: wanted.bytes });
  const turn: Turn = { context, page, far, wanted };
  const moved: Moved[] = [];
  const note = (one: Moved) => {
    tell(one);
    moved.push(one);
  };
  note(await upload(turn, wanted.reloads ? "in the middle" : "never"));
  const small = wanted.files > 0 ? await uploadMany(turn) : null;
  if (small !== null) tellSmall(small);
  const browser = context.browser()?.version() ?? "";
  const cookies = (await context.cookies(far.url)).map(({ name, value }) => ({ name, value, url: far.url }));
  await context.close();
  const plain = await openPlainPage({
    command: [join(folder, "chromium"), ...FLAGS],
    profile: join(folder, "profile"),
    cookies,
  });
  undo.defer(() => plain.close());
  note(await downloadAlone(plain, { far, wanted }));
  const { up, down } = await link.counts();
  const refused = up.refused + down.refused;
  if (refused > 0) console.log("The emulator could not keep up; do not trust this.");
  if (!wanted.saves) return;
  const { bytes } = wanted;
  const command = commandOf("browser", args);
  await savePageResult("transfers", { ...machine, command, browser, bytes, link: wanted.link, moved, small, refused });
  await writePagesPage();
}
