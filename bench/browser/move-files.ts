import type { BrowserContext, Page } from "@playwright/test";
import { z } from "zod";
import type { LinkSettings } from "#e2e/link/emulator.ts";
import { formatCount } from "#protocol/base/units.ts";
import { BenchError } from "../bench-error.ts";
import type { Moved, Transfers } from "../page/result.ts";
import { sha256OfStream, watchTasks } from "./in-page.ts";
import type { FarEnd } from "./start-far-end.ts";
import { watchMemory, type Memory } from "./watch-memory.ts";

/** Operates the page as a person does: uploads a large file, and drops many small ones at once. */

export const LONGEST_MS = 60 * 60_000;
export const LARGE_NAME = "large.bin";
/** Folder in the bucket. */
export const FOLDER = "bench";

const partCounts = z.object({ parts: z.number(), requests: z.number(), succeeded: z.number() });

export interface Wanted {
  bytes: number;
  link: LinkSettings;
  files: number;
  reloads: boolean;
  builds: boolean;
  saves: boolean;
}

export interface Turn {
  context: BrowserContext;
  page: Page;
  far: FarEnd;
  wanted: Wanted;
}

/** Runs `work` and measures its time and the browser's memory. */
async function weigh(turn: Turn, work: () => Promise<void>): Promise<{ seconds: number; memory: Memory }> {
  const browser = turn.context.browser();
  if (browser === null) throw new BenchError("The browser has ended.");
  const session = await browser.newBrowserCDPSession();
  const memory = watchMemory(async () => (await session.send("SystemInfo.getProcessInfo")).processInfo);
  const startedAt = performance.now();
  await work();
  return { seconds: (performance.now() - startedAt) / 1000, memory: await memory.stop() };
}

/** Uploads the large file through the page. @throws BenchError when the bytes that arrived differ from those that were sent */
export async function upload(turn: Turn, reload: "in the middle" | "never"): Promise<Moved> {
  const { page, far, wanted } = turn;
  const key = `${FOLDER}/dataset/${LARGE_NAME}`;
  await far.ask({ ask: "reset" });
  await page.goto(`${far.url}/transfers`);
  await page.getByRole("region", { name: "This browser" }).getByRole("button", { name: "Upload…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Folder", { exact: true }).first().fill(`${FOLDER}/`);
  await dialog.getByRole("button", { name: "Choose a folder" }).click();
  await dialog.getByText("1 file,").waitFor();
  const line = page.getByRole("listitem", { name: `upload of dataset/${LARGE_NAME}` }).first();
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
    ...memory,
    notes: `SHA-256 equal; ${requests} requests for ${count} parts`,
  };
}

/** Drops thousands of small files at once; measures their time, and for how long the page did not respond. */
export async function uploadMany({ page, far, wanted }: Turn): Promise<NonNullable<Transfers["small"]>> {
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
  return { files: wanted.files, seconds, longestTaskMs: longest, above100, rows };
}
