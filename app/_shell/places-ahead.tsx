"use client";
import { useRouter } from "next/navigation";
import { useEffect } from "react";
import { PLACES } from "./places.ts";

/** Not while the page that was asked for is being drawn, and one at a time. */
const AFTER_MS = 2_000;
const EVERY_MS = 100;

/** Asks for the main places ahead, so that going to one of them by a letter waits for nothing. */
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
