"""Closed groups of things of which a question means exactly one: animals, colours, tools ...

Two texts that name different members of one group (each one that the other does not name) ask
different questions. Members of the groups marked `!` may not even be missing on one side. A
name list, not a lexicon of the language: what is not in it is left to the encoder. Knows
nothing of places (see `places`) and of names by capital letters (see `names`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from semcache.decide.marks import Found, Mark, forms
from semcache.decide.text import Token

FAMILY = "kind"
PERSONS = frozenset(("patient!", "subject", "family", "sex", "occupation", "party"))
_ALSO_NAMES = frozenset(
    ("fruit", "colour", "planet", "season", "grain", "shop", "company", "messenger", "structure")
)
QUANTIFIERS = frozenset(("quantifier", "bound", "only!"))
_NOT_THINGS = PERSONS | QUANTIFIERS
THINGS: frozenset[str] | None = None
"""All groups that are neither persons nor quantifiers."""

# group: members separated by `;`, each with its written forms. Forms as in `marks.forms`.
_GROUPS = """
pet: dog+ puppy puppies 狗 狗狗 小狗; cat+ kitten+ 猫 猫咪; horse+ 马匹; rabbit+ 兔子; hamster+ 仓鼠; parrot+ 鹦鹉; goldfish 金鱼; cow+ 奶牛; pig+ 猪; sheep 羊; chicken+ 鸡; duck+ 鸭
patient!: pregnant pregnancy 孕妇 怀孕 孕期 妊娠 妊娠期; breastfeed~ nursing_mothers lactating 哺乳 哺乳期 喂奶
subject: newborn+ infant+ baby babies toddler+ 婴儿 宝宝 新生儿 幼儿; child children kid+ for_children for_kids for_a_child to_a_child for_toddlers 儿童 给小孩 给孩子 小孩 孩子 小朋友; elderly seniors 老人 老年人; teenager+ teen+ 青少年; adult+ 成人 成年人 大人
family: son+ 儿子; daughter+ 女儿; wife wives 妻子 老婆; husband+ 丈夫 老公; mother+ mom mum 妈妈 母亲; father+ dad 爸爸 父亲; brother+ 哥哥 弟弟; sister+ 姐姐 妹妹; grandmother+ grandma 奶奶 外婆; grandfather+ grandpa 爷爷 外公; uncle+ 叔叔 舅舅 伯父 姑父 姨父; aunt+ 阿姨 姑姑 姨妈 舅妈 婶婶; cousin+ 表哥 表弟 表姐 表妹 堂哥 堂弟 堂姐 堂妹; nephew+ 侄子 外甥; niece+ 侄女 外甥女; grandson+ 孙子 外孙; granddaughter+ 孙女 外孙女; mother_in_law 婆婆 岳母 丈母娘; father_in_law 公公 岳父; son_in_law 女婿; daughter_in_law 儿媳 媳妇; stepmother 继母; stepfather 继父; fiance fiancee 未婚夫 未婚妻; girlfriend+ 女朋友; boyfriend+ 男朋友; partner+ 伴侣; roommate+ flatmate+ 室友; parents 爸妈 父母; boss manager 老板 上司; colleague+ coworker+ 同事; neighbor+ neighbour+ 邻居; friend+ 朋友
occupation: nurse+ 护士; doctor+ physician+ 医生 大夫; dentist+ 牙医; pharmacist+ 药剂师; surgeon+ 外科医生; lawyer+ attorney+ solicitor+ 律师; judge+ 法官; accountant+ 会计; teacher+ 老师 教师; professor+ 教授; engineer+ 工程师; programmer+ developer+ 程序员; designer+ 设计师; driver+ 司机; pilot+ 飞行员; police_officer+ policeman 警察; firefighter+ 消防员; soldier+ 士兵 军人; chef+ cook_job 厨师; waiter+ waitress 服务员; electrician+ 电工; plumber+ 水管工; mechanic+ 修理工; carpenter+ 木匠; farmer+ 农民; journalist+ reporter+ 记者; author+ writer+ 作家 作者; actor+ 演员; actress actresses 女演员; editor+ 编辑; architect+ 建筑师; economist+ 经济学家; historian+ 历史学家; photographer+ 摄影师; interpreter+ translator+ 翻译员; secretary secretaries 秘书; receptionist+ 前台; cashier+ 收银员; salesperson salesman 销售员; banker+ 银行家; broker+ 经纪人; freelancer+ 自由职业者; contractor+ 承包商; intern+ 实习生; administrator+ admin+ 管理员; analyst+ 分析师; agent+ 代理人; investor+ 投资者; auditor+ 审计师; consultant+ 顾问; scientist+ 科学家; researcher+ 研究员; vet veterinarian+ 兽医; midwife midwives 助产士; therapist+ 治疗师; psychologist+ 心理学家 心理咨询师; psychiatrist+ 精神科医生; entrepreneur+ 企业家 创业者; executive+ 高管; artist+ 艺术家; musician+ 音乐家; singer+ 歌手; athlete+ 运动员; coach coaches 教练; organizer+ organiser+ 组织者; educator+ 教育工作者; activist+ 活动家; advisor+ adviser+; academic+ 学者; assistant+ 助理 助手; escort+; investigator+ 侦探 调查员; producer+ 制片人; director+ 导演 董事
party: landlord+ lessor+ 房东 出租人; tenant+ lessee+ renter+ 租客 租户 房客 承租人; employer+ 雇主 用人单位; employee+ worker+ staff_member+ 员工 雇员 职工 劳动者; buyer+ purchaser+ 买家 买方; seller+ vendor+ merchant+ 卖家 卖方 商家; plaintiff+ claimant+ 原告; defendant+ 被告; borrower+ debtor+ 借款人 债务人; lender+ creditor+ 贷款人 债权人; patient+ 病人 患者; carer+ caregiver+ 护工 照顾者; host+ 房主; guest+ 客人; parent+ 父母 家长; student+ pupil+ 学生; citizen+ 公民; immigrant+ 移民; tourist+ visitor+ 游客; resident+ 居民; refugee+ 难民; veteran+ 退伍军人; retiree+ pensioner+ 退休人员; sender+ 寄件人 发件人; recipient+ receiver+ 收件人; owner+ 业主; donor+ 捐赠者; victim+ 受害者; witness witnesses 证人; executor+ 遗嘱执行人; heir+ beneficiary beneficiaries 继承人 受益人
sex: men man male+ boy+ 男 男性 男人 男士 男生 男孩; women woman female+ girl+ 女 女性 女人 女士 女生 女孩
colour: red 红色; green 绿色; blue 蓝色; yellow 黄色; black 黑色; white 白色; purple 紫色; pink 粉色; brown 棕色; grey gray 灰色; orange 橙色
season: spring 春天 春季; summer 夏天 夏季; autumn 秋天 秋季; winter 冬天 冬季
daypart: morning+ 早上 上午 早晨 清晨; afternoon+ 下午; evening+ 傍晚; night+ 夜里 夜间
meal: breakfast 早餐 早饭; lunch 午餐 午饭; dinner supper 晚餐 晚饭
compass: north northern; south southern; east eastern; west western; northeast northeastern; northwest northwestern; southeast southeastern; southwest southwestern
body: head+ 头; eye+ 眼睛; ear+ 耳朵; nose 鼻子; tooth teeth 牙 牙齿; throat 喉咙 嗓子; neck 脖子 颈; shoulder+ 肩膀; arm+ 胳膊; elbow+ 肘; wrist+ 手腕; hand+ 手; finger+ 手指; chest 胸; heart 心脏; lung+ 肺; liver 肝; kidney+ 肾; stomach 胃; spine 脊柱; waist 腰; hip+ 臀; leg+ 腿; knee+ 膝盖; ankle+ 脚踝; heel+ 脚跟; foot feet 脚; toe+ 脚趾; skin 皮肤; bone+ 骨头; muscle+ 肌肉; brain 大脑; jaw 下巴; tongue 舌头; butt buttocks 屁股; thyroid 甲状腺; breast+ 乳房 乳腺; uterus 子宫; prostate 前列腺
planet: mercury 水星; venus 金星; mars 火星; jupiter 木星; saturn 土星; uranus 天王星; neptune 海王星; moon 月球; sun 太阳
nature: planet+ 行星; country countries 国家; ocean+ 海洋; river+ 河流; mountain+ 山; lake+ 湖; city cities 城市; continent+ 大洲; island+ 岛
measure: area 面积; population 人口; volume 体积; height 高度 身高; weight 重量 体重; length 长度; width 宽度; depth 深度; speed 速度; age 年龄; price+ 价格; density 密度
transport: flight+ plane+ 航班 飞机; train+ 火车 高铁; bus buses 公交 大巴 汽车票; ferry ferries 轮船; taxi+ 出租车; bike+ bicycle+ 自行车; motorcycle+ 摩托车; subway metro 地铁
sport: football 足球; basketball 篮球; tennis 网球; golf 高尔夫; baseball 棒球; hockey 冰球; soccer; volleyball 排球; swimming 游泳; badminton 羽毛球
drink: coffee 咖啡; tea 茶; milk 牛奶; beer 啤酒; wine 红酒 葡萄酒; juice 果汁; water 水
grain: rice 米饭; bread 面包; pasta; noodles 面条; potato potatoes 土豆; oats 燕麦
meat: beef 牛肉; pork 猪肉; lamb 羊肉; fish 鱼肉; shrimp prawns 虾; turkey_breast
fruit: apple+ 苹果; banana+ 香蕉; grape+ 葡萄; pear+ 梨; peach peaches 桃子; mango mangoes 芒果; watermelon+ 西瓜; strawberry strawberries 草莓; durian 榴莲; pitaya dragon_fruit 火龙果; kiwi+ 猕猴桃; lemon+ 柠檬; orange_juice 橙子
card: debit_card+ 借记卡 储蓄卡; credit_card+ 信用卡; gift_card+ 礼品卡; prepaid_card+ 预付卡
account: savings 储蓄账户; checking current_account 活期; brokerage 券商
tax: income_tax 所得税 个税; property_tax 房产税; inheritance_tax estate_tax 遗产税; capital_gains 资本利得税; sales_tax vat 增值税; corporate_tax 企业所得税; stamp_duty 印花税
insurance: car_insurance auto_insurance 车险; health_insurance 医保 医疗保险; life_insurance 寿险 人寿保险; home_insurance; travel_insurance 旅行险; pension+ 养老保险; unemployment 失业保险
paper: passport+ 护照; visa+ 签证; id_card+ 身份证; driving_license driver_license drivers_license 驾照 驾驶证; birth_certificate+ 出生证明; residence_permit+ 居住证
contract: employment_contract+ 劳动合同; rental_agreement+ lease+ 租房合同 租赁合同; loan_agreement+ 借款合同; non_disclosure+ nda 保密协议; non_compete noncompete 竞业协议; will_and_testament 遗嘱; prenup prenuptial 婚前协议
credential: password+ 密码; username+ 用户名; pin_code; email+ 邮箱; phone_number+ 手机号
drug: ibuprofen 布洛芬; paracetamol acetaminophen 对乙酰氨基酚 扑热息痛; aspirin 阿司匹林; amoxicillin 阿莫西林; penicillin 青霉素; cephalosporin 头孢; metformin 二甲双胍; insulin 胰岛素; warfarin 华法林; naproxen 萘普生; diclofenac 双氯芬酸; prednisone 泼尼松; codeine 可待因; omeprazole 奥美拉唑; atorvastatin 阿托伐他汀; lisinopril; amlodipine 氨氯地平
cancer: breast_cancer 乳腺癌; lung_cancer 肺癌; colon_cancer 结肠癌; liver_cancer 肝癌; stomach_cancer 胃癌; prostate_cancer 前列腺癌; cervical_cancer 宫颈癌
hepatitis: 甲肝; 乙肝; 丙肝; 戊肝
disease: diabetes 糖尿病; asthma 哮喘; flu influenza 流感; cold_sore+; measles 麻疹; malaria 疟疾; tuberculosis 肺结核; hepatitis 肝炎; pneumonia 肺炎; arthritis 关节炎; gout 痛风; migraine+ 偏头痛; stroke 中风; depression 抑郁症; anemia anaemia 贫血; covid 新冠; hiv aids 艾滋病 艾滋; lupus 红斑狼疮; psoriasis 银屑病 牛皮癣; eczema 湿疹; gastritis 胃炎; bronchitis 支气管炎; rhinitis 鼻炎
vitamin: vitamin_a 维生素a; vitamin_c 维生素c; vitamin_d 维生素d; vitamin_e 维生素e; vitamin_k 维生素k; iron 铁剂; calcium 钙; zinc 锌; magnesium 镁; potassium 钾; sodium 钠; folic_acid folate 叶酸; omega
exam: blood_test+ 抽血 验血; gastroscopy 胃镜; colonoscopy 肠镜; ct_scan+; mri 核磁共振; ultrasound 超声 B超; x_ray+; wisdom_tooth wisdom_teeth 智齿
language: python; java; javascript js node_js nodejs; typescript; rust; golang; csharp; cplusplus; elixir; erlang; clojure; dart; groovy; visual_basic vba; assembly; objective_c; delphi pascal; prolog; lisp; scheme_language; zig; solidity; bash_script; sql_language; ruby; php; kotlin; swift; scala; perl; haskell; matlab; fortran; cobol; lua; julia
package: pandas; numpy; torch pytorch; tensorflow; scipy; polars; matplotlib; keras; jax; requests_library; flask; django; fastapi
runtime: linux; windows; macos mac_os osx; ubuntu; debian; centos; fedora; android 安卓; ios; iphone+ 苹果手机; ipad+; chromebook+; mac; wsl
browser: chrome; firefox; safari; edge_browser microsoft_edge; opera_browser
database: postgres postgresql; mysql; sqlite; mongodb mongo; redis; oracle_database; mariadb; sql_server mssql; cassandra; dynamodb; elasticsearch
cloud: aws amazon_web_services 亚马逊云; azure; gcp google_cloud 谷歌云; aliyun 阿里云; tencent_cloud 腾讯云; heroku; digitalocean
vcs: github; gitlab; bitbucket; gitee
javascript: react; vue; angular; svelte; nextjs; jquery
manager: npm; yarn; pnpm; pip; conda; poetry; cargo; maven; gradle; brew homebrew; apt; yum; dnf
shell: bash; zsh; powershell; fish_shell
dataformat: json; xml; yaml; csv tsv; toml; parquet; html; markdown; latex; protobuf; avro; bson; ini_file; sqlite_file
file: pdf pdfs; docx word_document+ word_file+ doc_file; xlsx excel_file+ excel_sheet+; pptx; txt; rtf; epub; mobi; png; jpg jpeg; gif; svg; webp; heic; bmp; tiff; psd; mp3; wav; flac; aac; ogg; m4a; mp4; avi; mkv; mov; wmv; flv; webm; zip_file; rar; tar; gz gzip; iso_file; exe; dmg; apk; jar
office: excel; powerpoint; google_sheets; google_docs; outlook; gmail; libreoffice
messenger: whatsapp; telegram; wechat 微信; slack; discord; zoom; microsoft_teams; qq; signal_app; 钉钉; 飞书
payment: paypal; alipay 支付宝; stripe; venmo; wechat_pay 微信支付; apple_pay; google_pay; cash_app; zelle
social: facebook; instagram; twitter; tiktok 抖音; youtube; linkedin; reddit; snapchat; weibo 微博; 小红书
shop: amazon 亚马逊; ebay; taobao 淘宝; 京东; aliexpress; walmart; 拼多多
company: google 谷歌; microsoft 微软; apple_inc; tesla 特斯拉; toyota 丰田; samsung 三星; huawei 华为; xiaomi 小米; nvidia 英伟达; amd; intel 英特尔; openai; anthropic; netflix; disney 迪士尼
loop: for_loop+ for循环; while_loop+ while循环; do_while
command: ls; cd; rm; cp; mv; grep; sed; awk; chmod; chown; curl; wget; ssh; scp; rsync; mkdir; rmdir; systemctl; journalctl; crontab; ping_command; traceroute; netstat; ifconfig; apt_get; kubectl; helm; terraform; ansible; docker_compose
protocol: http_protocol; https; ftp; sftp; ssh_protocol; tcp; udp; smtp; imap; pop3; dns; dhcp; websocket+; grpc; graphql; rest_api+; soap
cloudservice: s3; ec2; lambda; rds; dynamodb; sqs; sns
crypto: bitcoin btc 比特币; ethereum eth 以太坊; solana; dogecoin 狗狗币; litecoin; tether usdt
planfund: roth_ira; traditional_ira; 401k; 529_plan; hsa; fsa; sep_ira
visa: h1b h_1b; f1_visa; b1; j1; k1; green_card; l1_visa; o1
court: small_claims; supreme_court 最高法院; appeals_court; family_court; bankruptcy_court
structure: list+ 列表; array+ 数组; dictionary dictionaries dict+ 字典; string+ 字符串; tuple+ 元组; set_of; linked_list+ 链表
pay: salary wage+ 工资; bonus bonuses 奖金; overtime 加班费; severance 遣散费 补偿金
leave: sick_leave 病假; annual_leave vacation 年假; maternity_leave 产假; paternity_leave 陪产假; parental_leave 育儿假; unpaid_leave 事假; marriage_leave 婚假
org: individual+ 个人; company companies corporation+ business businesses 企业 公司; nonprofit+ charity charities 非营利
stage: undergraduate+ bachelor+ 本科; graduate+ master+ 硕士 研究生; phd doctoral 博士; high_school 高中; primary_school elementary 小学; kindergarten 幼儿园
plan: basic_plan 基础版; premium_plan premium 高级版; pro_plan 专业版; enterprise_plan enterprise 企业版; free_plan free_tier 免费版; family_plan 家庭版; student_plan 学生版
cook: bake~ oven 烤; boil~ 煮; fry fries fried frying 炸 炒; steam~ 蒸; grill~; microwave~ 微波
genre: poem+ 诗; essay+ 作文 文章; story stories 故事; song+ 歌; joke+ 笑话; speech speeches 演讲稿; letter+ 信; email_draft
quantifier: all every each entire whole everyone everybody 所有 全部 每个 每一个 全体 一切 凡是; some someone somebody 有些 部分 一些 某些; any anyone anybody 任何人 任何 任意 随便哪个; both 两者 双方; first 第一个; last 最后一个; one 一个;  none neither nobody no_one 都不 没有一个; most 大多数 大部分 多数; few several 少数 几个; half_of 一半
statistic: average 平均 平均值; median 中位数; minimum 最低 最小值; maximum 最高 最大值; total 总共 总计 合计
calendar: today 今天; this_week 本周 这周 这个星期; this_month 本月 这个月; this_quarter 本季度 这个季度; this_year 今年 本年度; this_decade; this_century 本世纪; this_weekend 这个周末
rate: per_second 每秒; per_minute 每分钟; per_hour an_hour hourly 每小时; per_day a_day daily 每天 每日; per_week a_week weekly 每周; per_month a_month monthly 每月 每个月; per_quarter quarterly 每季度; per_year a_year yearly annually annual 每年 年度; biweekly fortnightly
bound: exactly precisely 恰好 正好 刚好 不多不少; at_least no_less_than no_fewer_than minimum_of 至少 起码 不少于 不低于; at_most no_more_than up_to maximum_of 至多 最多 不超过 不多于; approximately roughly around_about 大约 大概 左右 约
only!: only solely exclusively 仅 仅仅 只有 只限 仅限 只能 唯一 唯独 只允许 仅允许
dialogue: cover_letter+; resume+ cv 简历
"""


def entries() -> Iterator[tuple[str, Mark]]:
    """Yield the table: concept = group, member = its first form."""
    for line in _GROUPS.strip().split("\n"):
        group, _, members = line.partition(":")
        for member in members.split(";"):
            words = member.split()
            for word in words:
                for form in forms(word):
                    yield form, Mark(FAMILY, group, words[0])


def is_ambiguous(found: Found, tokens: Sequence[Token]) -> bool:
    """True for a word in a capital that is also a company's or a person's name: Apple, Amazon, Brown."""
    token = tokens[found.start] if found.start < len(tokens) else None
    return (
        token is not None
        and found.mark.name in _ALSO_NAMES
        and not token.first
        and token.raw[0].isupper()
        and not token.raw.isupper()
    )


def members(found: Sequence[Found]) -> dict[str, frozenset[str]]:
    """Give group -> members named in a text."""
    named: defaultdict[str, set[str]] = defaultdict(set)
    for item in found:
        named[item.mark.name].add(item.mark.member)
    return {group: frozenset(names) for group, names in named.items()}


def one_sided(one: dict[str, frozenset[str]], other: dict[str, frozenset[str]]) -> bool:
    """True when only one text speaks of a person that the group names: `my son`, and nobody."""
    return any((group in one) != (group in other) for group in ("subject", "family", "occupation"))


def conflict(
    one: dict[str, frozenset[str]], other: dict[str, frozenset[str]], sort: frozenset[str] | None
) -> bool:
    """True when both texts name members of a group that the other does not name.

    `sort` says which groups count: `PERSONS`, `QUANTIFIERS`, or `THINGS` for all others.
    """
    if not one or not other:
        return any(
            group.endswith("!") and ((group in sort) if sort is not None else group not in _NOT_THINGS)
            for group in (*one, *other)
        )
    nothing: frozenset[str] = frozenset()
    for group in {*one, *other}:
        if (group not in sort) if sort is not None else (group in _NOT_THINGS):
            continue
        left, right = one.get(group, nothing), other.get(group, nothing)
        if (left - right and right - left) or (group.endswith("!") and left != right):
            return True
    return False
