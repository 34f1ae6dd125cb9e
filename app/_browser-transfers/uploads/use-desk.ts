"use client";
import { useEffect, useState, useSyncExternalStore } from "react";
import { usePerson } from "../../_hub/session/person.tsx";
import { TransferDesk, type DeskBatch } from "./desk.ts";

/** The upload manager of this page, created when first needed and kept while the page lives. */
let made: { personId: string; desk: TransferDesk; started: Promise<void> } | null = null;

export async function openDesk(personId: string): Promise<TransferDesk> {
  if (made?.personId !== personId) {
    made?.desk.stop();
    const desk = new TransferDesk(personId);
    made = { personId, desk, started: desk.start() };
  }
  const { desk, started } = made;
  await started;
  return desk;
}

export function useDesk(): TransferDesk | null {
  const personId = usePerson()?.id ?? null;
  const [desk, setDesk] = useState<TransferDesk | null>(null);
  useEffect(() => {
    if (personId === null) return;
    let isOver = false;
    openDesk(personId).then(
      (opened) => {
        if (!isOver) setDesk(opened);
      },
      () => undefined,
    );
    return () => {
      isOver = true;
    };
  }, [personId]);
  return desk;
}

const NONE: readonly DeskBatch[] = [];
const nothing = (): (() => void) => () => undefined;

/** Returns uploads, newest first; null while they are being loaded. */
export function useBatches(desk: TransferDesk | null): readonly DeskBatch[] | null {
  const shown = useSyncExternalStore(desk?.subscribe ?? nothing, desk?.batches ?? (() => NONE), () => NONE);
  return desk === null ? null : shown;
}
