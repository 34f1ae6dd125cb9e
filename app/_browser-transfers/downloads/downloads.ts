import { useSyncExternalStore } from "react";
import { newRequestId } from "../../_hub/actions/use-action.ts";
import { createGate } from "../engine/gate.ts";
import { DownloadLife, type DownloadView } from "./download-life.ts";
import { nameOf, type ListedFiles, type Wanted } from "./list-wanted.ts";
import { openTarget } from "./open-target.ts";

/** Holds the downloads of this page. They end with the page, because only it may write their files. */

const SHOW_EVERY_MS = 250;
const lives = new Map<string, DownloadLife>();
const listeners = new Set<() => void>();
const gate = createGate(Date.now);
let shown: readonly DownloadView[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

function show(): void {
  timer = undefined;
  shown = [...lives.values()].map((life) => life.view()).toReversed();
  for (const listener of listeners) listener();
  if (shown.some(({ state }) => state === "running")) timer = setTimeout(show, 1_000);
}
function change(): void {
  timer ??= setTimeout(show, SHOW_EVERY_MS);
}

const warn = (event: BeforeUnloadEvent): void => {
  if (shown.some(({ state }) => state === "running" || state === "paused")) event.preventDefault();
};

/** Asks for the target and starts the download. Returns false when the person canceled. */
export async function startDownload(wanted: Wanted, listed: ListedFiles | null = null): Promise<boolean> {
  const name = nameOf(wanted);
  const target = await openTarget(name);
  if (target === null) return false;
  const id = newRequestId();
  const life = new DownloadLife({ id, wanted, listed, name, target, gate, onChange: change });
  lives.set(id, life);
  window.addEventListener("beforeunload", warn);
  void life.run();
  change();
  return true;
}

export async function actOnDownload(id: string, action: "pause" | "resume" | "cancel" | "forget"): Promise<void> {
  const life = lives.get(id);
  if (life === undefined) return;
  if (action === "pause") life.pause();
  else if (action === "resume") void life.run();
  else {
    if (action === "cancel") await life.cancel();
    lives.delete(id);
  }
  change();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
const NONE: readonly DownloadView[] = [];

/** Returns the downloads of this page, newest first. */
export const useDownloads = (): readonly DownloadView[] =>
  useSyncExternalStore(
    subscribe,
    () => shown,
    () => NONE,
  );
