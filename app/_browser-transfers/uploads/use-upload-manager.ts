"use client";
import { useEffect, useState, useSyncExternalStore } from "react";
import { usePerson } from "../../_hub/session/person.tsx";
import { UploadManager, type UploadBatch } from "./upload-manager.ts";

/** The upload manager of this page, created when first needed and kept while the page lives. */
let made: { personId: string; manager: UploadManager; started: Promise<void> } | null = null;

export async function openUploadManager(personId: string): Promise<UploadManager> {
  if (made?.personId !== personId) {
    made?.manager.stop();
    const manager = new UploadManager(personId);
    made = { personId, manager, started: manager.start() };
  }
  const { manager, started } = made;
  await started;
  return manager;
}

export function useUploadManager(): UploadManager | null {
  const personId = usePerson()?.id ?? null;
  const [manager, setManager] = useState<UploadManager | null>(null);
  useEffect(() => {
    if (personId === null) return;
    let isOver = false;
    openUploadManager(personId).then(
      (opened) => {
        if (!isOver) setManager(opened);
      },
      () => undefined,
    );
    return () => {
      isOver = true;
    };
  }, [personId]);
  return manager;
}

const NONE: readonly UploadBatch[] = [];
const nothing = (): (() => void) => () => undefined;

/** Returns uploads, newest first; null while they are being loaded. */
export function useBatches(manager: UploadManager | null): readonly UploadBatch[] | null {
  const shown = useSyncExternalStore(manager?.subscribe ?? nothing, manager?.batches ?? (() => NONE), () => NONE);
  return manager === null ? null : shown;
}
