-- Training that had to be done again after an interruption.
-- CreateTable
CREATE TABLE "Loss" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "at" DATETIME NOT NULL,
    "run" TEXT NOT NULL,
    "epoch" INTEGER NOT NULL,
    "nodeId" TEXT NOT NULL,
    "byNodeId" TEXT NOT NULL,
    "fromStep" BIGINT,
    "lastStep" BIGINT NOT NULL,
    "lostSteps" BIGINT NOT NULL,
    "lostMs" BIGINT NOT NULL
);

-- CreateIndex
CREATE INDEX "Loss_at_idx" ON "Loss"("at");

-- CreateIndex
CREATE INDEX "Loss_run_at_idx" ON "Loss"("run", "at");

-- CreateIndex
CREATE INDEX "Loss_nodeId_at_idx" ON "Loss"("nodeId", "at");

-- The last words of a program that ended.
ALTER TABLE "Event" ADD COLUMN "detail" TEXT;
