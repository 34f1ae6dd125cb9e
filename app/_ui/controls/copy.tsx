"use client";
import { Check, Copy as CopyIcon } from "lucide-react";
import { useEffect, useState } from "react";
import { IconButton } from "./button.tsx";

/**
 * Copies text to the clipboard and returns whether it succeeded. Uses `execCommand` where the Clipboard API is missing (plain
 * HTTP).
 */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.setAttribute("readonly", "");
    area.className = "fixed top-0 left-0 opacity-0";
    const host = document.querySelector("[role=dialog]") ?? document.body;
    host.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function useCopied(text: string): { copied: boolean; copy: () => void } {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  return { copied, copy: () => void copyText(text).then(setCopied) };
}

/** Shows a small copy button; `label` names what is copied: "Copy s3:// address". */
export function Copy({ text, label }: { text: string; label: string }) {
  const { copied, copy } = useCopied(text);
  return (
    <IconButton label={copied ? "Copied" : label} onClick={copy} size="small">
      {copied ? <Check size={14} className="text-safe" /> : <CopyIcon size={14} />}
    </IconButton>
  );
}
