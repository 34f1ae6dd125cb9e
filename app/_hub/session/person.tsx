"use client";
import { createContext, use, type ReactNode } from "react";
import type { Role } from "#protocol/wire/requests.ts";
import type { Person } from "#protocol/wire/views.ts";

const PersonContext = createContext<Person | null>(null);

export function PersonProvider({ person, children }: { person: Person; children: ReactNode }) {
  return <PersonContext value={person}>{children}</PersonContext>;
}

/** Returns the signed-in person; null on the sign-in and first-run pages. */
export const usePerson = (): Person | null => use(PersonContext);

const RANK: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 };

/** Returns whether a role includes another. The hub enforces it; pages only avoid refused requests. */
export const roleAllows = (actual: Role, needed: Role): boolean => RANK[actual] >= RANK[needed];

/** Returns the reason why the signed-in person may not do something, or null when they may. */
export function useWhyNot(needed: Role): string | null {
  const person = usePerson();
  if (person === null || roleAllows(person.role, needed)) return null;
  return `Needs the role ${needed}; yours is ${person.role}. Ask an admin of this hub.`;
}
