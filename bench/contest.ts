// Contenders side by side. This machine is never quiet, so absolute figures wander; but slices that follow each other
// within milliseconds meet the same weather, and the ratio of neighbours holds still.

import fs from 'node:fs'
import path from 'node:path'

export interface Contender {
  readonly name: string
  open(folder: string): Promise<Appender>
}

export interface Appender {
  append(from: number, count: number): Promise<void>
  close(): Promise<void>
}

export interface Standing {
  /** Messages a second, median over the slices. */
  readonly rate: number
  /** Per slice, in seconds. */
  readonly seconds: readonly number[]
}

export interface Course {
  readonly folder: string
  readonly messages: number
  readonly slice: number
  /** How often everything is done, each time in a fresh folder. */
  readonly rounds: number
}

/** All contenders append the same messages, taking turns slice by slice. */
export async function race(contenders: readonly Contender[], course: Course): Promise<Map<Contender, Standing>> {
  const seconds = new Map(contenders.map((contender) => [contender, [] as number[]]))
  for (let round = 0; round < course.rounds; round++) {
    const folder = fs.mkdtempSync(path.join(course.folder, 'race-'))
    const running = []
    for (const contender of contenders) running.push({ contender, appender: await contender.open(folder) })
    // The first slice warms up the compiler and is not counted.
    for (let at = -course.slice; at < course.messages; at += course.slice) {
      for (const { contender, appender } of running) {
        const start = performance.now()
        await appender.append(at + course.slice, course.slice)
        if (at >= 0) seconds.get(contender)!.push((performance.now() - start) / 1000)
      }
      running.reverse()
    }
    for (const { appender } of running) await appender.close()
    fs.rmSync(folder, { recursive: true })
  }
  return new Map(
    contenders.map((contender) => {
      const all = seconds.get(contender)!
      return [contender, { rate: course.slice / median(all), seconds: all }]
    }),
  )
}

/** How many times as fast as the other, as the median over neighbouring slices. */
export function ratio(ours: Standing, other: Standing): number {
  return median(ours.seconds.map((seconds, i) => other.seconds[i]! / seconds))
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
