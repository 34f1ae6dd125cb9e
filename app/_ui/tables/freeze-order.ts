"use client";
import { useState, type FocusEvent } from "react";

/**
 * Keeps rows from moving under the pointer. While the pointer or the focus is inside a list, its order is frozen. Rows keep
 * their places, removed rows leave, and new rows are appended. The live order returns when pointer and focus have left.
 */

/**
 * Returns `wanted` in the order of `held`; ids not in `held` follow in their wanted order. Returns `held` itself when nothing
 * changed.
 */
export function keepOrder(
  held: readonly string[],
  wanted: readonly string[],
  known = new Set(held),
): readonly string[] {
  if (wanted.length === held.length && wanted.every((id) => known.has(id))) return held;
  const present = new Set(wanted);
  return [...held.filter((id) => present.has(id)), ...wanted.filter((id) => !known.has(id))];
}

export interface FrozenOrder {
  ids: readonly string[];
  frozen: boolean;
  /** Handlers to spread on the element around the rows. */
  hold: {
    onPointerEnter: () => void;
    onPointerLeave: () => void;
    onFocus: () => void;
    onBlur: (event: FocusEvent<HTMLElement>) => void;
  };
}

/**
 * Keeps rows in place while the pointer is over them. `asked` identifies the sort order that a person chose. When it
 * changes, the rows move at once, even under the pointer.
 */
export function useFrozenOrder(wanted: readonly string[], asked = ""): FrozenOrder {
  const [hold, setHold] = useState<{ ids: readonly string[]; known: Set<string>; asked: string } | null>(null);
  const setHeld = (ids: readonly string[] | null): void =>
    setHold(ids === null ? null : { ids, known: new Set(ids), asked });
  if (hold !== null && hold.asked !== asked) setHeld(wanted);
  const [by, setBy] = useState({ pointer: false, focus: false });
  const change = (next: { pointer: boolean; focus: boolean }): void => {
    setBy(next);
    if (!next.pointer && !next.focus) setHeld(null);
    else if (hold === null) setHeld(wanted);
  };
  return {
    ids: hold === null ? wanted : keepOrder(hold.ids, wanted, hold.known),
    frozen: hold !== null,
    hold: {
      onPointerEnter: () => change({ ...by, pointer: true }),
      onPointerLeave: () => change({ ...by, pointer: false }),
      onFocus: () => change({ ...by, focus: true }),
      onBlur: (event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) change({ ...by, focus: false });
      },
    },
  };
}
