"use client";
import { useRouter } from "next/navigation";
import { useEffect } from "react";
import { PLACES } from "./places.ts";

/** Delay after the page was opened, so that prefetches do not compete with its own drawing. They then run one at a time. */
const AFTER_MS = 2_000;
const EVERY_MS = 100;

/** Prefetches the main pages, so that navigation by shortcut is immediate. */
export function PlacesAhead() {
  const router = useRouter();
  useEffect(() => {
    const left = PLACES.map(({ href }) => href);
    let timer = setTimeout(function next() {
      const place = left.shift();
      if (place === undefined) return;
      router.prefetch(place);
      timer = setTimeout(next, EVERY_MS);
    }, AFTER_MS);
    return () => clearTimeout(timer);
  }, [router]);
  return null;
}
