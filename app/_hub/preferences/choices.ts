"use client";
import { useSyncExternalStore } from "react";
import { formatRate, type RateUnit, type SizeUnit } from "#protocol/base/units.ts";
import { setSizeUnit, sizeUnit } from "../../_ui/text/sizes.ts";
import { setTimeZone, timeZone, type Zone } from "../../_ui/text/times.ts";
import { parseTheme, THEME_COOKIE, type Theme } from "./theme-cookie.ts";

/** Keeps preferences of this browser as cookies, so that the server renders the first page with them. They hold no secrets. */

const YEAR_S = 31_536_000;
const listeners = new Set<() => void>();

/** Cookie values as last read. Reading `document.cookie` is slow, and every row of a list does it at each rendering. */
const known = new Map<string, string | null>();

function read(name: string): string | null {
  const kept = known.get(name);
  if (kept !== undefined) return kept;
  const found = document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`));
  const value = found === undefined ? null : found.slice(name.length + 1);
  known.set(name, value);
  return value;
}

function write(name: string, value: string): void {
  document.cookie = `${name}=${value}; path=/; max-age=${YEAR_S}; samesite=lax`;
  known.set(name, value);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const UNIT_COOKIE = "tidemark-rate";
const SIZE_COOKIE = "tidemark-size";
const ZONE_COOKIE = "tidemark-zone";

// Module-level, because sizes and times are formatted in many places outside of React.
if (typeof document !== "undefined") {
  setSizeUnit(read(SIZE_COOKIE) === "decimal" ? "decimal" : "binary");
  setTimeZone(read(ZONE_COOKIE) === "utc" ? "utc" : "local");
}

export const useTheme = (): Theme =>
  useSyncExternalStore(
    subscribe,
    () => parseTheme(read(THEME_COOKIE)),
    () => "system",
  );

export function chooseTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  write(THEME_COOKIE, theme);
}

export const useRateUnit = (): RateUnit =>
  useSyncExternalStore(
    subscribe,
    () => (read(UNIT_COOKIE) === "bytes" ? "bytes" : "bits"),
    () => "bits",
  );

export const chooseRateUnit = (unit: RateUnit): void => write(UNIT_COOKIE, unit);

export const useSizeUnit = (): SizeUnit => useSyncExternalStore(subscribe, sizeUnit, () => "binary");

export function chooseSizeUnit(unit: SizeUnit): void {
  setSizeUnit(unit);
  write(SIZE_COOKIE, unit);
}

export const useTimeZone = (): Zone => useSyncExternalStore(subscribe, timeZone, () => "local");

export function chooseTimeZone(zone: Zone): void {
  setTimeZone(zone);
  write(ZONE_COOKIE, zone);
}

/** Returns a formatter for rates in the unit chosen in this browser. */
export function useRate(): (bytesPerSecond: number) => string {
  const unit = useRateUnit();
  return (bytesPerSecond) => formatRate(bytesPerSecond, unit);
}

/** Works as `useRate`, with a dash for unknown rates. */
export function useRateOrDash(): (bytesPerSecond: number | null | undefined) => string {
  const rate = useRate();
  return (bytesPerSecond) => (bytesPerSecond == null ? "–" : rate(bytesPerSecond));
}
