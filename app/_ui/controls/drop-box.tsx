"use client";
import { ChevronDown } from "lucide-react";
import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { Button } from "./button.tsx";

interface DropBoxProps {
  /** Text of the button and accessible name of the box. */
  label: string;
  children: ReactNode;
}

/**
 * Shows a button that opens a small box below it. Escape, a click elsewhere or losing the focus closes the box. On
 * narrow screens the box is as wide as its container, which must be `relative`.
 */
export function DropBox({ label, children }: DropBoxProps) {
  const [isOpen, setOpen] = useState(false);
  const frame = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const box = useId();
  useEffect(() => {
    if (!isOpen) return;
    const close = (event: Event): void => {
      if (event.target instanceof Node && frame.current?.contains(event.target) !== true) setOpen(false);
    };
    const escape = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      setOpen(false);
      button.current?.focus();
    };
    document.addEventListener("pointerdown", close);
    document.addEventListener("focusin", close);
    document.addEventListener("keydown", escape);
    return () => {
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("focusin", close);
      document.removeEventListener("keydown", escape);
    };
  }, [isOpen]);
  return (
    <div ref={frame} className="sm:relative">
      <Button
        ref={button}
        size="small"
        look="quiet"
        aria-expanded={isOpen}
        aria-controls={isOpen ? box : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        {label} <ChevronDown size={12} aria-hidden />
      </Button>
      {isOpen && (
        <section
          id={box}
          aria-label={label}
          className="absolute inset-x-4 z-30 mt-1 rounded-2 border border-line bg-panel p-3 shadow-lift sm:right-0 sm:left-auto sm:w-72"
        >
          {children}
        </section>
      )}
    </div>
  );
}
