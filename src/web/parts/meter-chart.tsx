// How full a context was over time, with the handoffs marked.

import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { theme } from '../shell/theme.ts'
import { useValue } from '../data/store.ts'
import { tokensText } from './numbers.ts'
import { minuteTime, secondTime } from './time.tsx'

export interface MeterChartProps {
  readonly points: readonly { date: string; tokens: number; window?: number; threshold?: number }[]
  readonly marks: readonly { kind: string; date: string; name: string }[]
  readonly height?: number
}

/** Over a shorter time, in seconds, several marks of the axis would show the same minute. */
const secondsMatter = 600

/** Drawn anew in another theme. */
export default function MeterChart(props: MeterChartProps) {
  return <Chart key={useValue(theme)} {...props} />
}

function Chart({ points, marks, height = 150 }: MeterChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const words = `Context of ${points.length} measurements, at last ${tokensText(points.at(-1)?.tokens ?? 0)} tokens, ${marks.length} marks`
  useEffect(() => {
    const box = place.current!
    const colour = (name: string) => {
      // Whatever the theme makes of it: a canvas knows no variables.
      box.style.color = `var(--${name})`
      return window.getComputedStyle(box).color
    }
    const [live, baton, line, faint] = [colour('live'), colour('baton'), colour('line'), colour('faint')]
    const [soft] = [colour('live-soft')]
    const times = points.map(({ date }) => Date.parse(date) / 1000)
    const tokens = points.map((point) => point.tokens)
    const last = points.at(-1)
    const limit = last?.window !== undefined && last.threshold !== undefined ? last.window * last.threshold : undefined
    const axis = { stroke: faint, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '11px sans-serif' }
    const draw = (plot: uPlot) => {
      const { ctx, bbox } = plot
      ctx.save()
      ctx.lineWidth = 1.5
      ctx.strokeStyle = baton
      if (limit !== undefined) {
        const y = plot.valToPos(limit, 'y', true)
        ctx.setLineDash([4, 4])
        stroke(ctx, bbox.left, y, bbox.left + bbox.width, y)
        ctx.setLineDash([])
      }
      for (const { date } of marks) {
        const x = plot.valToPos(Date.parse(date) / 1000, 'x', true)
        if (x >= bbox.left && x <= bbox.left + bbox.width) stroke(ctx, x, bbox.top, x, bbox.top + bbox.height)
      }
      ctx.restore()
    }
    const axisTime = times.at(-1)! - times[0]! < secondsMatter ? secondTime : minuteTime
    const most = Math.max(...tokens, limit ?? 0) * 1.1
    const plot = new uPlot(
      {
        width: box.clientWidth,
        height,
        legend: { show: false },
        cursor: { y: false, points: { size: 6 } },
        scales: { y: { range: [0, most] } },
        axes: [
          { ...axis, size: 26, space: 60, values: (_, values) => values.map((each) => axisTime(each * 1000)) },
          { ...axis, size: 40, values: (_, values) => values.map((each) => tokensText(each)) },
        ],
        series: [{}, { stroke: live, width: 1.5, fill: soft, points: { show: points.length < 3 } }],
        hooks: { draw: [draw] },
      },
      [times, tokens],
      box,
    )
    const resize = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height }))
    resize.observe(box)
    return () => {
      resize.disconnect()
      plot.destroy()
    }
  }, [points, marks, height])
  return <div ref={place} className="meter-chart" role="img" aria-label={words} />
}

function stroke(ctx: CanvasRenderingContext2D, x: number, y: number, toX: number, toY: number): void {
  ctx.beginPath()
  ctx.moveTo(x, y)
  ctx.lineTo(toX, toY)
  ctx.stroke()
}
