import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningStore, startStore } from "../stage/start-store.ts";
import type { LinkSettings } from "./emulator.ts";
import { type Link, openLink } from "./open-link.ts";

/** An emulated link, a store at its far end, and a folder for whatever is at the near one. */
export interface StoreAcross {
  link: Link;
  store: RunningStore;
  folder: string;
  [Symbol.asyncDispose]: () => Promise<void>;
}

/** @throws CannotRun */
export async function openStoreAcross(settings: LinkSettings): Promise<StoreAcross> {
  await using undo = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "tidemark-across-"));
  undo.defer(() => rmSync(folder, { recursive: true, force: true }));
  const link = await openLink(settings, "cubic");
  undo.defer(() => link.close());
  const store = await startStore({
    dataDir: join(folder, "store"),
    under: ["nsenter", `--net=${link.serverNetns}`],
    flags: ["--host", link.serverAddress, "--no-fsync"],
  });
  undo.defer(async () => void (await store.stop("SIGKILL")));
  const opened = undo.move();
  return { link, store, folder, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
