import { waitUntil } from "#e2e/stage/wait-until.ts";
import { BenchError } from "../bench-error.ts";
import type { Moved } from "../page/result.ts";
import { isStream, standInPickers, streamOf } from "./in-page.ts";
import { FOLDER, LARGE_NAME, LONGEST_MS, type Wanted } from "./move-files.ts";
import type { PlainPage } from "./plain-browser.ts";
import type { FarEnd } from "./start-far-end.ts";
import { watchMemory } from "./watch-memory.ts";

const OPENS_MS = 120_000;

/** Returns a script that clicks the element with this name; it tells whether the element was there. */
const press = (selector: string, name: string): string =>
  `(() => { const one = [...document.querySelectorAll(${JSON.stringify(selector)})].find((each) => (each.ariaLabel ?? each.textContent).trim() === ${JSON.stringify(name)}); one?.click(); return one !== undefined; })()`;

/** Expression for the text of the download's line; empty while there is none. */
const SAYS = `document.querySelector(${JSON.stringify(`li[aria-label^="download of ${LARGE_NAME}"]`)})?.innerText ?? ""`;

/** Downloads the large file through the page. @throws BenchError when the bytes differ from those in the bucket */
export async function downloadAlone(page: PlainPage, { far, wanted }: { far: FarEnd; wanted: Wanted }): Promise<Moved> {
  await page.beforeEach(standInPickers);
  const query = new URLSearchParams({ in: `${FOLDER}/dataset/`, object: `${FOLDER}/dataset/${LARGE_NAME}` });
  await page.open(`${far.url}/buckets/${far.profileId}?${query.toString()}`);
  const memory = watchMemory(page.processes);
  const pressed = (selector: string, name: string) =>
    waitUntil(`"${name}" is there`, async () => (await page.ask(press(selector, name))) === true, {
      withinMs: OPENS_MS,
    });
  await pressed("button", "Download this object");
  const startedAt = performance.now();
  await pressed("a", "Transfers");
  await waitUntil(
    "the download has ended",
    async () => /checksums agree|no checksum on record|failed/.test(String(await page.ask(SAYS))),
    { withinMs: LONGEST_MS },
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const held = await memory.stop();
  if ((await page.ask(`(${isStream.toString()})(${JSON.stringify(streamOf(wanted.bytes))})`)) !== true) {
    throw new BenchError("What came is not what lies in the bucket.");
  }
  return {
    what: "down",
    seconds,
    ofLink: (wanted.bytes * 8) / seconds / (wanted.link.downMbit * 1e6),
    ...held,
    notes: "equal byte for byte",
  };
}
