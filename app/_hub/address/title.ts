"use client";
import { useEffect } from "react";

/** Sets the document title: "gpu-7 · Tidemark". For names that the server does not know when it renders the page. */
export function useTitle(text: string | null): void {
  useEffect(() => {
    if (text !== null) document.title = `${text} · Tidemark`;
  }, [text]);
}
