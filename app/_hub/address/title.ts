"use client";
import { useEffect } from "react";

/** The title of the page in the browser: "gpu-7 · Tidemark". For names the server does not know when it sends the page. */
export function useTitle(text: string | null): void {
  useEffect(() => {
    if (text !== null) document.title = `${text} · Tidemark`;
  }, [text]);
}
