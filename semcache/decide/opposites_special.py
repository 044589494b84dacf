"""Pairs of opposites of single fields: medicine, law, money, computing, travel. Data only; see `opposites`."""

from __future__ import annotations

SPECIAL = """
expired outdated 过期 | valid current unexpired 有效
resign~ resignation 辞职 主动离职 | dismissed laid_off sacked 辞退 被辞退 被开除 裁员
开空调 开灯 开窗 开门 开电视 开暖气 开火 开店 开机 开车门 开盖 | 关空调 关灯 关窗 关门 关电视 关暖气 关火 关店 关机 关车门 关盖
加好友 拉群 | 删好友 踢人 退群
入党 入团 入会 入职 入学 入院 | 退党 退团 退会 离职 退学 出院
借钱 借款 | 还钱 还款
借给 | 借来 向别人借
赢 | 输
upgrade~ 升级 | downgrade~ 降级
zoom_in 放大 | zoom_out 缩小
inflate~ 充气 打气 | deflate~ 放气
tighten~ 拧紧 收紧 | loosen~ 拧松 放松
promote~ promotion+ 提拔 晋升 | demote~ demotion+ 降职
assemble~ 组装 装配 | disassemble~ dismantle~ take_apart 拆卸 拆解 拆开
start~ found~ set_up launch~ 成立 开办 创办 | close~ shut dissolve~ wind_up 关停 解散
file~ lodge~ submit~ 提交 提起 申请 | withdraw withdraws withdrawing withdrew retract~ 撤回 撤销 撤诉
accept~ 接受 | decline~ refuse~ 谢绝 婉拒
pick_up | drop_off
check_in 办理入住 | check_out 办理退房
turn_up | turn_down
scroll_up 向上滚动 | scroll_down 向下滚动
sign_up register~ registration 注册 | sign_out deregister~ unregister~ 注销
enroll~ enrol~ | drop_out
obey~ comply comply_with 遵守 | disobey~ violate~ break_the_rules 违反
trust~ | distrust~ mistrust~
attract~ 吸引 | repel~ deter~ 驱赶 排斥
absorb~ 吸收 | release~ emit~ 释放 排放
melt~ 融化 熔化 | freeze freezes freezing frozen solidify 凝固 结冰
evaporate~ evaporation 蒸发 | condense~ condensation 凝结 冷凝
float~ 漂浮 | sink sinks sinking sank sunk 下沉
ascend~ climb~ 上山 爬升 | descend~ 下山 下降
multiply multiplies multiplied multiplying multiplication 乘 乘法 | divide~ division 除 除法
add~ addition plus 加法 | subtract~ subtraction minus 减法
integrate~ integral 积分 | differentiate~ derivative 微分 导数
encrypt~ | decrypt~
hire~ | fire~
whitelist~ allowlist~ 白名单 | blacklist~ blocklist~ denylist~ 黑名单
publish~ 发布 上架 | unpublish~ 下架
archive~ 归档 | unarchive~ restore~ 取消归档
pin~ 置顶 | unpin~ 取消置顶
tag~ | untag~
link~ 关联 | unlink~ 取消关联
check~ tick~ 勾选 | uncheck~ untick~ 取消勾选
select~ 选中 | deselect~ unselect~ 取消选择
indent~ 缩进 | unindent~ outdent~ dedent~
comment_out 注释掉 | uncomment~ 取消注释
commit~ 提交 | revert~ rollback roll_back undo 回滚 还原
deploy~ 部署 上线 | undeploy~ 下线
start_server boot~ 开机 | shut_down shutdown power_off 关机
charge~ 充电 | discharge~ drain~ 放电
pressurize~ | depressurize~
vaccinated 已接种 打过疫苗 | unvaccinated 未接种 没打疫苗
insured 有保险 | uninsured 没保险
married 已婚 | single unmarried unwed 未婚 单身
employed 在职 | unemployed 失业
pregnant 怀孕 | contraception birth_control contraceptive+ 避孕
fertile | infertile infertility 不孕
constipation 便秘 | diarrhea diarrhoea 腹泻 拉肚子
overweight obese obesity 超重 肥胖 | underweight 偏瘦 体重过轻
hyperactive 亢进 | hypoactive 减退
vasodilation | vasoconstriction
agonist+ 激动剂 | antagonist+ 拮抗剂
antigen+ 抗原 | antibody antibodies 抗体
artery arteries 动脉 | vein+ 静脉
inpatient+ 住院 | outpatient+ 门诊
prescription 处方药 | over_the_counter otc 非处方药
brand_name 原研药 | generic 仿制药
defense defence defensive 防守 防御 | offense offensive attack~ 进攻 攻击
powerful | powerless
hopeful | hopeless
useful helpful | useless unhelpful
careful | careless reckless
profit_making for_profit 营利 | nonprofit non_profit not_for_profit 非营利
bullish bull_market 牛市 看涨 做多 | bearish bear_market 熊市 看跌 做空
call_option+ 看涨期权 | put_option+ 看跌期权
long_term 长期 | short_term 短期
fixed 固定 | variable floating adjustable 浮动 可变
secured 有抵押 | unsecured 无抵押
prepaid 预付 | postpaid 后付
wholesale 批发 | retail 零售
import_tax | export_tax
taxable 应税 | nontaxable tax_exempt 免税
deductible 可抵扣 | nondeductible non_deductible 不可抵扣
refundable 可退 | nonrefundable non_refundable 不可退
voluntary 自愿 | involuntary forced 被迫 强制
civil 民事 | criminal 刑事
guilty 有罪 | innocent not_guilty 无罪
majority | minority
sole_custody | joint_custody
resident | nonresident non_resident
emigrate~ emigration 移居国外 | immigrate~ immigration 移民入境
enter_country entry 入境 | exit_country 出境
domestic_flight | international_flight
one_way 单程 | round_trip return_ticket 往返
nonstop direct_flight 直飞 | connecting_flight layover 转机
economy_class 经济舱 | business_class first_class 商务舱 头等舱
aisle 过道 靠走道 | window_seat 靠窗
smoking 吸烟 | non_smoking smoke_free 无烟 禁烟
vegetarian 素食 | meat_dish 荤菜
gluten | gluten_free 无麸质
spicy 辣 | mild 不辣
alcoholic | nonalcoholic non_alcoholic 无酒精
day daytime 白天 | night nighttime 夜里 晚上
sunrise dawn 日出 | sunset dusk 日落
high_tide 涨潮 | low_tide 退潮
wired 有线 | wireless 无线
analog analogue 模拟 | digital 数字
hardware 硬件 | software 软件
client_side 客户端 | server_side 服务端
read_only 只读 | read_write writable 可写
stateless 无状态 | stateful 有状态
compile_time 编译时 | runtime_error run_time 运行时
statically | dynamically
inner_join 内连接 | outer_join 外连接
left_join 左连接 | right_join 右连接
depth_first 深度优先 | breadth_first 广度优先
stack+ 栈 | queue+ 队列
push_to | pop_from
supervised 监督学习 | unsupervised 无监督
overfit~ overfitting 过拟合 | underfit~ underfitting 欠拟合
precision 精确率 | recall 召回率
numerator 分子 | denominator 分母
clockwise 顺时针 | counterclockwise anticlockwise 逆时针
concave 凹 | convex 凸
acid acidic 酸性 | alkaline base_solution basic 碱性
endothermic 吸热 | exothermic 放热
anode 阳极 正极 | cathode 阴极 负极
prokaryote+ 原核 | eukaryote+ 真核
herbivore+ 食草 | carnivore+ 食肉
nocturnal 夜行 | diurnal 昼行
deciduous 落叶 | evergreen 常绿
annual_plant | perennial+ 多年生
solo single_player 单人 单机 | multiplayer co_op 多人 联机
victory 胜利 | defeat 失败
hero heroes 英雄 | villain+ 反派
friend_request 加好友 | unfriend~ 删好友
compliment~ praise~ 表扬 赞美 | insult~ criticize~ criticise~ criticism 批评 侮辱
forgive forgives forgiving forgave 原谅 | blame~ 责怪
encouraging | discouraging
lengthen~ | shorten~
widen~ 加宽 | narrow~ 变窄
deepen~ | shallow
brighten~ 调亮 | dim dims dimming darken~ 调暗
louder 大声 | quieter 小声
sharpen~ 磨 | blunt~
wrap~ pack~ 打包 | unwrap~ unpack~ 拆包
fold~ 折叠 | unfold~ 展开
plug~ | unplug~
cover~ 盖上 | uncover~ 揭开
dress~ put_on 穿 | undress~ take_off 脱
wake_up 起床 | fall_asleep go_to_sleep 入睡 睡着
sit_down 坐下 | stand_up 站起来
lie_down | get_up
speak_up | shut_up
"""
