import type { Role } from "#protocol/wire/requests.ts";
import { roleAllows } from "../_hub/session/person.tsx";

const ROLES: readonly Role[] = ["viewer", "operator", "admin"];
const NOTES: Readonly<Record<Role, string>> = {
  viewer: "sees everything, changes nothing",
  operator: "also restores, sends commands and makes join tokens",
  admin: "also changes buckets, rules and accounts",
};

export const ROLE_CHOICES = ROLES.map((value) => ({ value, label: value, note: NOTES[value] }));

/** Returns the roles that somebody with this role may grant. */
export const rolesUpTo = (own: Role) => ROLE_CHOICES.filter(({ value }) => roleAllows(own, value));

export const isRole = (value: string): value is Role => ROLES.some((one) => one === value);

const DAY_MS = 86_400_000;

/** Returns durations in days as choices in milliseconds. */
export const lastingChoices = (days: readonly number[]) =>
  days.map((day) => ({ value: String(day * DAY_MS), label: day === 1 ? "1 day" : `${day} days` }));
