"use client";
import { useEffect, useEffectEvent, useRef, useState, type ReactNode } from "react";
import { classNames } from "../../_ui/rendering/class-names.ts";
import { fromDrop, type Chosen } from "../file-access.ts";

/** Accepts dropped files and folders. Its children offer the same by keyboard. */
export function DropZone({ onDrop, children }: { onDrop: (reading: Promise<Chosen>) => void; children: ReactNode }) {
  const zone = useRef<HTMLElement>(null);
  const [isOver, setOver] = useState(false);
  const take = useEffectEvent(onDrop);
  useEffect(() => {
    const element = zone.current;
    if (element === null) return;
    const end = new AbortController();
    const { signal } = end;
    const over = (event: DragEvent): void => {
      event.preventDefault();
      setOver(true);
    };
    const drop = (event: DragEvent): void => {
      event.preventDefault();
      setOver(false);
      if (event.dataTransfer !== null) take(fromDrop(event.dataTransfer));
    };
    element.addEventListener("dragover", over, { signal });
    element.addEventListener("dragleave", () => setOver(false), { signal });
    element.addEventListener("drop", drop, { signal });
    return () => end.abort();
  }, []);
  return (
    <section
      ref={zone}
      aria-label="Drop files or folders here"
      className={classNames(
        "mt-1 flex min-h-[112px] flex-wrap items-center justify-center gap-2 rounded-2 border border-dashed px-4 py-5 text-soft",
        isOver ? "border-accent bg-sunk" : "border-edge",
      )}
    >
      {children}
    </section>
  );
}
