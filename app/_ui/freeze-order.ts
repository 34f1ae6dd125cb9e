"use client";
import { useState, type FocusEvent } from "react";

/**
 * Rows never move under the pointer. While the pointer or the focus is inside a list its order stands still: rows keep
 * their places, those that are gone leave, new ones come at the end. The live order returns when both have left.
 */

/** `wanted` in the order of `held`; ids not held yet follow in their wanted order. */
export function keepOrder(held: readonly string[], wanted: readonly string[]): string[] {
  const present = new Set(wanted);
  const known = new Set(held);
  return [...held.filter((id) => present.has(id)), ...wanted.filter((id) => !known.has(id))];
}

export interface FrozenOrder {
  ids: readonly string[];
  frozen: boolean;
  /** To be spread on the element around the rows. */
  hold: {
    onPointerEnter: () => void;
    onPointerLeave: () => void;
    onFocus: () => void;
    onBlur: (event: FocusEvent<HTMLElement>) => void;
  };
}

/** `asked` names the order a person asked for: when that changes, the rows move at once, wherever the pointer is. */
export function useFrozenOrder(wanted: readonly string[], asked = ""): FrozenOrder {
  const [hold, setHold] = useState<{ ids: readonly string[]; asked: string } | null>(null);
  if (hold !== null && hold.asked !== asked) setHold({ ids: wanted, asked });
  const held = hold?.ids ?? null;
  const setHeld = (ids: readonly string[] | null): void => setHold(ids === null ? null : { ids, asked });
  const [by, setBy] = useState({ pointer: false, focus: false });
  const change = (next: { pointer: boolean; focus: boolean }): void => {
    setBy(next);
    if (!next.pointer && !next.focus) setHeld(null);
    else if (held === null) setHeld(wanted);
  };
  return {
    ids: held === null ? wanted : keepOrder(held, wanted),
    frozen: held !== null,
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
