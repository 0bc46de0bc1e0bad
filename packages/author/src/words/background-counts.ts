/**
 * How many public skills use a word: lines of a number and the stems that this number of skills has in its name and in the
 * positive part of its description. Made from the descriptions of 325 skills of 11 public collections, read in November
 * 2026. Stems of a single skill were left out.
 */
export const BACKGROUND_COUNTS = `
71 cod
66 creat
60 mention
56 build
54 also
47 review run
45 project
44 skill
42 fil
39 ask
38 check plan
37 generat test work
36 set
35 analysis befor
34 audit azur
33 cover issu writ
31 find new
30 app exist framework
28 context
27 agent guid net security servic
26 whenever
25 data fix tool
24 design expo only optimiz
23 includ
22 analyz implementation
21 chang model trigger
20 market someon structur vulnerability
19 deployment nativ oss sourc target
18 ai api detect improv pattern report scan task updat
17 ad codebas deploy featur one pr product referenc sdk workflow
16 bas c configur function implement integration migrat pag path produc request
15 all content document error flow github graph lik open read repo setup via
14 across activat after bug current debug dependency fuzz languag list multi other output performanc question spec strategy
13 call ci commit extract msbuild optimization resourc specific text tim version
12 claud development diagnos evaluat first high identify library map perform query ready start stat verify web
11 assess branch captur convert each edit get handl invok manag migration packag resolv rul runtim track trailmark triag upgrad url
10 0 add clean cli contract control coverag cross decision format go googl look mcp merg nod openai over pipelin pre prepar process python rat router say script shar static styl templat typ validation visual whether
9 answer apply boundary compar configuration conversion copy cor diff directory dotnet enabl execut fail failur full gat infrastructur link local log messag paid platform program prompt quality requirement scanner ship standard support ticket turn verification
8 already android application attack both command comment complet component custom doc domain driven ea end event form fre generation host hunt input knowledg lead md microsoft miss modul mor off out pass point protocol provision radius react result scaffold search session show slow smart system taint token validat valu x
7 access another architectur behavior best between bit blast brand campaign capacity cd checklist cluster comparison container conversation creator critical cryptographic customer decid detection documentation entry extension external git grill growth hook idea imag interview io land launch limit llm management match measur modern onboard per pick pric privileg production provid publish pull region replac research rout section semgrep step surfac trail typescript ui vs websit without workload
6 adapt ak artifact automation availability behavioral block choos cloud codex complexity concept cost creation deep diagram discovery download email evidenc explor fuzzer install json lin load long memory multipl nam network not notion practic problem property real recommendation releas requir rust safety screen secret selection sequenc server sit someth storag tag troubleshoot
5 2 acceptanc account against annotation anyth aren b2b bar binary binlog break candidat channel company competitor complianc comprehensiv connect criteria crypto databas default detail dockerfil draft edg engineer entrypoint environment eval even every feedback follow gemini hand handoff health increas interactiv isn java key kql kubernet layout lifecycl linux liv loop material media mod moderniz modify never offer operation pars peopl present prevent profil progress pur quota raw reach respons sarif scop screenshot seo sheet siz stack stag structural subscription swift tabl tier tracker understand variant vector view vm
4 1 10 action actionabl activation advanc agentic alway analyzer apis appl approach approval arithmetic assessment async auth authentication auto automat automatic availabl avoid azd back bad batch better bicep browser built bundl cach caus chain click codeql cold collect color compiler composition convention count crash css customiz deal defin definition delegat description devic diagnostic ef engagement engin etc exampl execution explicitly feel filter fram fully gather gh giv group html human identity import incremental incrementally index information integrat intent involv javascript keyword kotlin kusto legacy level locally location manual many markdown mermaid metric monitor navigation nobody object opportunity organiz overflow partner party pdf persona phras policy post prd prefer propos provider public quick rank rather recovery reduc refactor referral regression remov render replay repository restructur rewrit right risk rol saa sal scal secur see semantic sharpen short sid similar sku slid split story subagent suit summary systematic systematically team technical techniqu terraform think third two v2 visualiz within word workspac yaml
3 3 4 5 6 9 accept address advisory ambassador analytic animat animation articl asp asset author automatically backend background banner benchmark blocker brainstorm brief broken bus calle caller cas catch chatgpt churn clarify class client clos common community compil completion compos config confirm conflict dangerous dataset dead describ dev different direct direction draw driv drop dur e early els embed encounter ensur especially estimat evaluation exercis experienc explainer exploit export facebook fals faq field fill focus folder found foundry frontend general generator goal gpt grader green grow gtm guarante guidanc guidelin header hub icp id idiom independent individual inferenc info insight instruction intelligenc interfac internal interpret isolat js know larg letter libfuzzer linkedin lint llvm lost low machin measurement meet meta mobil modal motion mov much mutation nativewind natural next non nuget number onc option orphan overlay overview own parallel param parser past patch pay permission persistent phas pitch polish position positiv preview primary principl prioritiz privat prop proper proposal proxy purpos reachabl readiness reanimat receiv refin relat relentless reset roadmap roi ruby saf sam sandbox scarcity schedul schema scratch seed select send sensitiv severity shap signal signatur signup singl sink social solution sort specification spring sql status stor stream string submission submit success survey synthesiz tailwind tak talk targetframework tdd telemetry thought thread threat timeout ton too topic touch trac translat tre trial ts tun typography unnecessary upload usag useful video visualization vocabulary warn way weaudit well win window worktre wrong
2 11 12 13 20 7 8 abandon abandonment abc accuracy adopt advertis advisor affiliat alert alignment alternativ ambiguity amqp anchor annotat announcement anomaly anthropic anti approv archiv art artist aso assertion assignment assistant association audienc auditor augmentation authenticat autoscal away b backlog bash beautiful being beta black blockchain blog body boot bound breadcrumb bring budget builder business buy cadenc cairo calendar cancellation canonical canva capability card casually categoriz category chat checkpoint choic cit citation claim classification cleanup co coach collection column combin compatibility compatibl competitiv compilation compress comput concret condition connection constant constraint consumer contact continuous copyright copywrit correctly corruption cosmo cosmwasm cours cpu creativ cro csharp csproj cta day decimal deck declar deepen deliverabl demo determin developer discover distillation distribut div django do dom don dotnet10 dotnet9 down dpo drift dsl dump duplicat dynamic earn effectiv effectiveness efficiently elsewher enablement endpoint enforc enrich entra env establish exchang exit expect expensiv experimental experimentation expert expir expiration explorer expos extend fak family fast fetch ffi figur filenam fin firewall fit flag fold font formula forum forward freemium functionality fund g g2 ga gap gen generativ given glob glossary gpu handler hard hardcod harness head headlin her hero hierarchy hig history hit hold homepag hot hotspot http hygien hypothesis identification immediately impact important in incident inform insid inspect instagram instanc instead integer interact interop interrupt investigat investigation irql iteration itself job judg kill known leader leadership lean leav let leverag lightweight linq lock logic login lookup loss maco macro maintain maintainability manager manifest mark matt maui may menus min mismatch mistak misus moment mouth must mutant neighborhood net10 net9 npx oauth ocr official offset ongo onlin openapi opt optimal optionally orchestration order organization orient original originat outbound outreach overload overrid owner panic parallelism parameter partnership password payment payout pend perf pi piec pin placeholder plain play playbook plus png pod polyglot port postur precision preserv preset press priority prob professional programmatic promot proof propagation pros prospect prototyp prov proverif ps1 push pv qa qualification queu rag rai rbac recommend record red refresh regex registration relationship relevant remediation repeat retarget retention return revenu rfc rft rightsiz root row rpc runway sav scor self sequencediagram serialization serv sery sft sharp shortest sign simulator skus slack small snapshot solana solidity span spe specializ specifi specify spend spreadsheet standalon startup stuck sub subgraph subject such summariz suspect symbol tactic tailor technology term terminology testflight them throw tighten toolkit topology traffic train transcript transition trim tru trust try tui twitter ubiquitous unexpect uniqu universal until upgradeability upsell usability v4 vagu vault vbproj violation viral visibility visibl vivisect weak webapp welcom whil whol wycheproof yet zon
`

/** The number of skills behind `BACKGROUND_COUNTS`. */
export const BACKGROUND_SKILLS = 325

/** Mean number of words of these skills, with the name counted three times. */
export const MEAN_LENGTH = 45
