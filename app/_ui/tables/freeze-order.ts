"use client";
import { useState, type FocusEvent } from "react";

/**
 * Rows never move under the pointer. While the pointer or the focus is inside a list its order stands still: rows keep
 * their places, those that are gone leave, new ones come at the end. The live order returns when both have left.
 */

/** `wanted` in the order of `held`; ids not held yet follow in their wanted order. The same list where both hold the same. */
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
