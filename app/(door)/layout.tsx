import type { ReactNode } from "react";
import { Brand } from "../_shell/nav.tsx";
import { WrongAddress } from "./wrong-address.tsx";

export default function DoorLayout({ children }: { children: ReactNode }) {
  return (
    <div className="flex min-h-dvh flex-col">
      <header className="flex items-center gap-2.5 px-6 py-5 text-15 font-semibold tracking-[-.01em]">
        <Brand />
        Tidemark
      </header>
      <main className="mx-auto flex w-full max-w-[680px] flex-1 flex-col gap-5 px-4 pt-[4vh] pb-16">
        <WrongAddress />
        {children}
      </main>
    </div>
  );
}
