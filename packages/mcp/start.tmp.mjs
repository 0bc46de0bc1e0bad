import { mkdirSync, writeFileSync, existsSync, rmSync } from 'node:fs'
import { createSkillRuntime } from '@skillstoke/core'
import { directory, openState } from '@skillstoke/core/node'
const n=Number(process.argv[2]); const root=`/tmp/st/${n}`; const st=`/tmp/st/state-${n}`
if(!existsSync(root)){ for(let i=0;i<n;i++){ const d=`${root}/g${i%50}/skill-${i}`; mkdirSync(d,{recursive:true}); writeFileSync(d+'/SKILL.md',`---\nname: skill-${i}\ndescription: Does thing ${i}.\n---\nBody ${i}.\n`)} }
let longest=0,last=performance.now(); const t=setInterval(()=>{},1); 
const tick=()=>{const now=performance.now(); longest=Math.max(longest,now-last); last=now; setImmediate(tick)}; 
const a=performance.now(); 
const state=await openState(st); if(process.argv[3]) state.store.listRefs=undefined; if(!process.argv[4]) {} else tick(); const c=process.cpuUsage()
const skills=await createSkillRuntime({sources:[directory(root)],state})
const b=performance.now(); const u=process.cpuUsage(c);  console.log(n, 'start', Math.round(b-a),'ms cpu',Math.round((u.user+u.system)/1000),'block',longest.toFixed(1), skills.current.list().length)
await skills.close(); process.exit(0)
